package report

import "github.com/pbmb/pbmb/knowledge"

// A Description is what the page is told of a report before it asks for rows.
type Description struct {
	ID      string            `json:"id"`
	Name    string            `json:"name"`
	Filters []Filter          `json:"filters"`
	Pages   []PageDescription `json:"pages"`
}

// A PageDescription is a page, 1280 pixels wide in the coordinates of its visuals.
type PageDescription struct {
	Name        string              `json:"name"`
	DisplayName string              `json:"displayName"`
	Filters     []Filter            `json:"filters"`
	Width       int                 `json:"width"`
	Height      int                 `json:"height"`
	Visuals     []VisualDescription `json:"visuals"`
}

// A VisualDescription is a visual by its name in the protocol.
type VisualDescription struct {
	Name    string    `json:"name"`
	Title   string    `json:"title"`
	Kind    Kind      `json:"kind"`
	Type    string    `json:"type"` // what Power BI calls the kind
	Columns int       `json:"columns"`
	Layout  Layout    `json:"layout"`
	Rows    []Target  `json:"rows"`
	Series  *Target   `json:"series,omitempty"`
	Values  []Measure `json:"values"`
}

// A Layout is where a visual lies on its page, in pixels.
type Layout struct {
	X      int `json:"x"`
	Y      int `json:"y"`
	Z      int `json:"z"`
	Width  int `json:"width"`
	Height int `json:"height"`
}

// A Measure by its table.
type Measure struct {
	Table   string `json:"table"`
	Measure string `json:"measure"`
}

const (
	pageWidth = 1280
	gap       = 16
)

var heights = map[Kind]int{Card: 112, Slicer: 112, Bar: 304, Line: 304, Table: 384, Matrix: 304}

// Describe tells a report's pages and visuals, without any value of its rows.
func (r *Report) Describe(id, name string, m *knowledge.Model) Description {
	d := Description{ID: id, Name: name, Filters: filtersOf(r.Filters)}
	for i := range r.Pages {
		p := &r.Pages[i]
		page := PageDescription{Name: p.ID, DisplayName: p.Name, Filters: filtersOf(p.Filters), Width: pageWidth}
		layouts, height := p.layout()
		page.Height = height
		for j := range p.Visuals {
			v := &p.Visuals[j]
			visual := VisualDescription{
				Name: v.ID, Title: v.Title, Kind: v.Kind, Type: typeNames[v.Kind], Columns: v.Width, Layout: layouts[j],
				Rows: []Target{}, Values: []Measure{},
			}
			for _, f := range v.Rows {
				visual.Rows = append(visual.Rows, Target(f))
			}
			if v.Columns != nil {
				series := Target(*v.Columns)
				visual.Series = &series
			}
			for _, name := range v.Values {
				visual.Values = append(visual.Values, Measure{Table: homeOf(m, name), Measure: name})
			}
			page.Visuals = append(page.Visuals, visual)
		}
		d.Pages = append(d.Pages, page)
	}
	return d
}

func filtersOf(list []Shown) []Filter {
	out := []Filter{}
	for _, s := range list {
		out = append(out, s.filter())
	}
	return out
}

// layout lets the visuals flow in rows of 12 columns.
func (p *Page) layout() (list []Layout, height int) {
	const column = (pageWidth - gap) / 12
	x, y, tallest := 0, gap, 0
	for i, v := range p.Visuals {
		if x+v.Width > 12 {
			y, x, tallest = y+tallest+gap, 0, 0
		}
		tallest = max(tallest, heights[v.Kind])
		list = append(list, Layout{X: gap + x*column, Y: y, Z: i, Width: v.Width*column - gap, Height: heights[v.Kind]})
		x += v.Width
	}
	return list, y + tallest + gap
}

package sample

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/pbmb/pbmb/knowledge"
	"github.com/pbmb/pbmb/knowledge/tmdl"
	reports "github.com/pbmb/pbmb/sync/sample/report"
)

// The company's file, as testdata/company/company.yaml has it.
type (
	companyFile struct {
		Name          string          `yaml:"name"`
		Domain        string          `yaml:"domain"`
		InitialDomain string          `yaml:"initial_domain"`
		People        []personFile    `yaml:"people"`
		Groups        []groupFile     `yaml:"groups"`
		Apps          []appIDFile     `yaml:"app_registrations"`
		Workspaces    []workspaceFile `yaml:"workspaces"`

		GoogleAccounts []accountFile `yaml:"google_accounts"`
		OpenIDAccounts []accountFile `yaml:"openid_accounts"`
	}
	accountFile struct {
		Email      string `yaml:"email"`
		Name       string `yaml:"name"`
		Title      string `yaml:"title"`
		Unverified bool   `yaml:"unverified"` // the email
	}
	personFile struct {
		Key         string `yaml:"key"`
		Name        string `yaml:"name"`
		Title       string `yaml:"title"`
		Home        string `yaml:"home"` // a guest's address at home
		Disabled    bool   `yaml:"disabled"`
		FabricAdmin bool   `yaml:"fabric_admin"`
	}
	groupFile struct {
		Name    string   `yaml:"name"`
		Count   int      `yaml:"count"` // so many groups, numbered
		Members []string `yaml:"members"`
		Groups  []string `yaml:"groups"`
	}
	appIDFile struct {
		Name string `yaml:"name"`
		ID   string `yaml:"id"`
	}
	accessFile struct {
		To    string `yaml:"to"`
		Right string `yaml:"right"`
	}
	workspaceFile struct {
		Name        string              `yaml:"name"`
		Folder      string              `yaml:"folder"`
		Description string              `yaml:"description"`
		Personal    string              `yaml:"personal"` // whose personal workspace it is
		Users       []accessFile        `yaml:"users"`
		Datasets    []datasetFile       `yaml:"datasets"`
		Reports     []reportFile        `yaml:"reports"`
		App         *appFile            `yaml:"app"`
		Items       map[string][]string `yaml:"items"` // Fabric items by their key in a scan
	}
	datasetFile struct {
		Name        string       `yaml:"name"`
		Folder      string       `yaml:"folder"`
		Description string       `yaml:"description"`
		By          string       `yaml:"by"`
		Endorsement string       `yaml:"endorsement"`
		CertifiedBy string       `yaml:"certified_by"`
		Label       string       `yaml:"label"`
		Shares      []accessFile `yaml:"shares"`
		Roles       []struct {
			Role    string   `yaml:"role"`
			Members []string `yaml:"members"`
		} `yaml:"roles"`
	}
	reportFile struct {
		Name    string `yaml:"name"`
		Dataset string `yaml:"dataset"`
		By      string `yaml:"by"`
		File    string `yaml:"file"` // of its definition
	}
	appFile struct {
		Name        string       `yaml:"name"`
		Description string       `yaml:"description"`
		By          string       `yaml:"by"`
		Reports     []string     `yaml:"reports"`
		Users       []accessFile `yaml:"users"`
	}
)

// A loader turns names of the company's file into things, and keeps the first
// name that stands for nothing.
type loader struct {
	t      *Tenant
	byKey  map[string]principal
	broken error
}

func (l *loader) principal(key string) principal {
	p, ok := l.byKey[key]
	if !ok && l.broken == nil {
		l.broken = fmt.Errorf("no person or group is named %q", key)
	}
	return p
}

func (l *loader) access(list []accessFile) []access {
	var out []access
	for _, a := range list {
		out = append(out, access{to: l.principal(a.To), right: a.Right})
	}
	return out
}

func (t *Tenant) loadCompany(fsys fs.FS) error {
	data, err := fs.ReadFile(fsys, "company.yaml")
	if err != nil {
		return err
	}
	var c companyFile
	if err := yaml.NewDecoder(bytes.NewReader(data), yaml.Strict()).Decode(&c); err != nil {
		return err
	}
	l := &loader{t: t, byKey: map[string]principal{}}
	t.byObject = map[string]*person{}
	for _, p := range c.People {
		t.addPerson(l, c, p)
	}
	t.addGroups(l, c.Groups)
	for _, f := range c.Apps {
		l.byKey[f.Name] = &servicePrincipal{id: id("service principal", f.ID), name: f.Name}
	}
	t.addIdentityProviders(c)
	for _, w := range c.Workspaces {
		if err := t.addWorkspace(l, fsys, w); err != nil {
			return fmt.Errorf("workspace %s: %w", w.Name, err)
		}
	}
	if err := t.linkReports(l, fsys, c.Workspaces); err != nil {
		return err
	}
	return l.broken
}

func (t *Tenant) addPerson(l *loader, c companyFile, f personFile) {
	p := &person{
		id: id("person", f.Key), name: f.Name, title: f.Title,
		upn: f.Key + "@" + c.Domain, fabricAdmin: f.FabricAdmin,
	}
	p.disabled.Store(f.Disabled)
	p.mail = p.upn
	if f.Home != "" {
		p.guest.Store(true)
		p.mail = f.Home
		p.upn = guestUPN(f.Home, c.InitialDomain)
	}
	t.people = append(t.people, p)
	t.byObject[p.id] = p
	l.byKey[f.Key] = p
}

func (t *Tenant) addGroups(l *loader, list []groupFile) {
	for _, f := range list {
		for i := range max(f.Count, 1) {
			g := &group{name: f.Name}
			if f.Count > 0 {
				g.name = fmt.Sprintf("%s %04d", f.Name, i+1)
			}
			g.id = id("group", g.name)
			for _, key := range f.Members {
				if p, ok := l.principal(key).(*person); ok {
					g.people = append(g.people, p)
				}
			}
			t.groups = append(t.groups, g)
			l.byKey[g.name] = g
		}
	}
	for _, f := range list { // a group may have one that comes later
		for _, name := range f.Groups {
			if inner, ok := l.principal(name).(*group); ok {
				outer := l.byKey[f.Name].(*group)
				outer.groups = append(outer.groups, inner)
			}
		}
	}
}

func (t *Tenant) addWorkspace(l *loader, fsys fs.FS, f workspaceFile) error {
	w := &workspace{
		id: id("workspace", f.Name), name: f.Name, description: f.Description,
		kind: "Workspace", users: l.access(f.Users), modified: t.now().Add(-2 * time.Hour), items: f.Items,
	}
	if f.Personal != "" {
		w.kind = "PersonalGroup"
	}
	for _, df := range f.Datasets {
		dir := path.Join(f.Folder, df.Folder)
		model, err := tmdl.LoadFS(fsys, dir)
		if err != nil {
			return fmt.Errorf("dataset %s: %w", df.Name, err)
		}
		d := &dataset{
			id: id("dataset", f.Name+"/"+df.Name), name: df.Name, description: df.Description,
			by: l.principal(df.By).(*person), endorsement: df.Endorsement, label: df.Label,
			shares: l.access(df.Shares), model: fixed(model), space: w,
			rows: companyRows(fsys, dir, f.Folder+"/"+df.Folder),
		}
		if df.CertifiedBy != "" {
			d.certifiedBy, _ = l.principal(df.CertifiedBy).(*person)
		}
		for _, r := range df.Roles {
			i := slices.IndexFunc(model.Roles, func(m knowledge.Role) bool { return m.Name == r.Role })
			if i < 0 {
				return fmt.Errorf("dataset %s has no role %q", df.Name, r.Role)
			}
			for _, key := range r.Members {
				d.members = append(d.members, roleMember{role: r.Role, who: l.principal(key)})
			}
		}
		w.datasets = append(w.datasets, d)
	}
	t.held.spaces = append(t.held.spaces, w)
	return nil
}

// linkReports adds the reports and apps once all datasets are there, since a
// report may lie in another workspace than its dataset.
func (t *Tenant) linkReports(l *loader, fsys fs.FS, list []workspaceFile) error {
	dataset := func(name string) *dataset {
		d := t.datasetNamed(name)
		if d == nil {
			l.broken = fmt.Errorf("no dataset is named %q", name)
		}
		return d
	}
	for i, f := range list {
		w := t.held.spaces[i]
		for _, r := range f.Reports {
			rep := &report{
				id: id("report", f.Name+"/"+r.Name), name: r.Name, dataset: dataset(r.Dataset), by: l.principal(r.By).(*person),
			}
			if l.broken != nil {
				return l.broken
			}
			if err := rep.define(fsys, path.Join(f.Folder, "reports", r.File+".yaml")); err != nil {
				return fmt.Errorf("report %s of %s: %w", r.Name, f.Name, err)
			}
			w.reports = append(w.reports, rep)
		}
		if f.App == nil {
			continue
		}
		a := &app{
			id: id("app", f.App.Name), name: f.App.Name, description: f.App.Description,
			by: l.principal(f.App.By).(*person), users: l.access(f.App.Users), space: w,
		}
		for _, name := range f.App.Reports {
			i := slices.IndexFunc(w.reports, func(r *report) bool { return r.name == name })
			if i < 0 {
				l.broken = fmt.Errorf("the app %s names the unknown report %q", a.name, name)
				continue
			}
			original := w.reports[i]
			a.reports = append(a.reports, &report{
				id: id("app report", f.App.Name+"/"+name), name: name, dataset: original.dataset,
				by: original.by, drawn: original.drawn, app: a, original: original,
			})
		}
		w.app = a
	}
	return nil
}

// define reads what a report draws.
func (r *report) define(fsys fs.FS, name string) error {
	data, err := fs.ReadFile(fsys, name)
	if err != nil {
		return err
	}
	r.drawn, err = reports.Parse(data, r.id, r.dataset.model())
	return err
}

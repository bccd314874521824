package dax

var definitionKinds = [...]DefinitionKind{
	DefineMeasure, DefineColumn, DefineTable, DefineVar, DefineFunction, DefineMParameter,
}

func (p *parser) definitionAhead() bool {
	for _, kind := range definitionKinds {
		if p.tok().word(string(kind)) {
			return true
		}
	}
	return false
}

func (p *parser) definition(d *Definition) bool {
	if doc, ok := p.docs[p.i]; ok {
		d.Doc = doc
	}
	d.Kind = DefinitionKind(upper(p.take().text))
	if d.Kind != DefineFunction {
		d.Doc = ""
	}
	switch d.Kind {
	case DefineMeasure, DefineColumn:
		t := p.tok()
		if t.kind != tokName && t.kind != tokQuoted {
			p.unexpected("the name of a table, as in " + string(d.Kind) + " Sales[Name] = …")
			return false
		}
		d.Table = p.take().text
		if p.tok().kind != tokBracket {
			p.unexpected("a name in brackets, as in " + string(d.Kind) + " Sales[Name] = …")
			return false
		}
		d.Name = p.take().text
	case DefineVar:
		if p.tok().kind != tokName {
			p.unexpected("the name of a variable: letters, digits and _")
			return false
		}
		d.Name = p.take().text
	case DefineTable, DefineMParameter:
		t := p.tok()
		if t.kind != tokName && t.kind != tokQuoted {
			p.unexpected("a name after " + string(d.Kind))
			return false
		}
		d.Name = p.take().text
	case DefineFunction:
		t := p.tok()
		if t.kind != tokName && t.kind != tokQuoted {
			p.unexpected("the name of a function")
			return false
		}
		d.Name = p.take().text
		for t.kind == tokName && p.tok().is(".") && p.ahead(1).kind == tokName {
			p.take()
			d.Name += "." + p.take().text
		}
	}
	if !p.wantOp("=", "after the name that is defined") {
		return false
	}
	if d.Kind == DefineFunction {
		return p.function(d)
	}
	if d.Value = p.expr(); d.Value == nil {
		return false
	}
	if d.Kind == DefineTable && p.tok().word("WITH") {
		var ok bool
		d.Shape, ok = p.visualShape()
		return ok
	}
	return true
}

// function := ( [ parameter {, parameter} ] ) => expr
func (p *parser) function(d *Definition) bool {
	if !p.wantOp("(", "before the parameters of a function") {
		return false
	}
	if !p.tok().is(")") {
		for {
			param := Param{}
			param.From = p.tok().from
			if p.tok().kind != tokName {
				p.unexpected("the name of a parameter")
				return false
			}
			param.Name = p.take().text
			if p.takeOp(":") && !p.paramType(&param) {
				return false
			}
			if p.takeOp("=") {
				if param.Default = p.expr(); param.Default == nil {
					return false
				}
			}
			param.Span = p.span(param.From)
			d.Params = append(d.Params, param)
			if !p.takeOp(",") {
				break
			}
		}
	}
	if !p.wantOp(")", "after the parameters of a function") || !p.wantOp("=>", "before the body of a function") {
		return false
	}
	d.Value = p.expr()
	return d.Value != nil
}

// paramType := [type] [subtype] [VAL | EXPR]
func (p *parser) paramType(param *Param) bool {
	words := 0
	for ; p.tok().kind == tokName; words++ {
		switch w := upper(p.tok().text); w {
		case "ANYVAL", "SCALAR", "TABLE", "ANYREF", "CALENDARREF", "COLUMNREF", "MEASUREREF", "TABLEREF":
			if param.Type != "" {
				p.unexpected("one type for a parameter")
				return false
			}
			param.Type = w
		case "VAL", "EXPR":
			param.ByExpr = w == "EXPR"
		case "VARIANT", "INT64", "INTEGER", "DECIMAL", "CURRENCY", "DOUBLE", "STRING", "TEXT", "DATETIME", "DATE", "TIME",
			"BOOLEAN", "LOGICAL", "NUMERIC", "BLANK", "BINARY":
			if param.Subtype != "" {
				p.unexpected("one subtype for a parameter")
				return false
			}
			param.Subtype = w
		default:
			p.unexpected("the type of a parameter, as in x : SCALAR INT64 VAL")
			return false
		}
		p.take()
	}
	if words == 0 {
		p.unexpected("the type of a parameter, as in x : SCALAR INT64 VAL")
		return false
	}
	return true
}

// visualShape := WITH VISUAL SHAPE axis+ [ DENSIFY "name" ]
func (p *parser) visualShape() (*VisualShape, bool) {
	v := &VisualShape{}
	v.From = p.take().from
	if !p.takeWord("VISUAL") || !p.takeWord("SHAPE") {
		p.unexpected("WITH VISUAL SHAPE")
		return v, false
	}
	for p.tok().word("AXIS") {
		axis := Axis{}
		axis.From = p.take().from
		t := p.tok()
		if t.kind != tokName && t.kind != tokQuoted {
			p.unexpected("the name of an axis")
			return v, false
		}
		axis.Name = p.take().text
		for p.tok().word("GROUP") {
			group := AxisGroup{}
			group.From = p.take().from
			for {
				x := p.expr()
				if x == nil {
					return v, false
				}
				group.Columns = append(group.Columns, x)
				if !p.takeOp(",") {
					break
				}
			}
			if p.takeWord("TOTAL") {
				if group.Total = p.expr(); group.Total == nil {
					return v, false
				}
			}
			group.Span = p.span(group.From)
			axis.Groups = append(axis.Groups, group)
		}
		if axis.Groups == nil {
			p.unexpected("GROUP and the columns of the axis")
			return v, false
		}
		if p.tok().word("ORDER") && p.ahead(1).word("BY") {
			p.take()
			p.take()
			var ok bool
			if axis.OrderBy, ok = p.orderTerms(); !ok {
				return v, false
			}
		}
		axis.Span = p.span(axis.From)
		v.Axes = append(v.Axes, axis)
	}
	if v.Axes == nil {
		p.unexpected("AXIS ROWS or AXIS COLUMNS")
		return v, false
	}
	if p.takeWord("DENSIFY") {
		if p.tok().kind != tokText || p.tok().text == "" {
			p.unexpected("the name of the column that DENSIFY adds, as text")
			return v, false
		}
		v.Densify = p.take().text
	}
	v.Span = p.span(v.From)
	return v, true
}

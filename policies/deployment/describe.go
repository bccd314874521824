package deployment

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
)

// A DescribeRule is a rule of a deployment that decides who may describe which
// datasets, and so must be one that lists can follow.
type DescribeRule struct {
	File string
	Line int

	// Expressions are those of its own condition; those of derived roles and
	// variables that it uses are not among them.
	Expressions []Expression

	derivedRoles []any
	condition    any
	file         *File
}

// An Expression is one expr of a condition.
type Expression struct {
	Text string
	Line int
}

// DescribeRules are the rules of all kinds of policies on describing datasets.
func (s *Set) DescribeRules() []DescribeRule {
	var out []DescribeRule
	for _, f := range s.Files {
		for i, r := range list(f.body["rules"]) {
			rule, _ := r.(map[string]any)
			at := fmt.Sprintf("$.%s.rules[%d]", f.key, i)
			switch f.Kind {
			case ResourcePolicy:
				if matches(f.body["resource"], "dataset") && anyMatches(rule["actions"], "describe") {
					out = append(out, f.describeRule(rule, at))
				}
			case RolePolicy:
				if matches(rule["resource"], "dataset") && anyMatches(either(rule, "allowActions", "allow_actions"), "describe") {
					out = append(out, f.describeRule(rule, at))
				}
			case PrincipalPolicy:
				if !matches(rule["resource"], "dataset") {
					continue
				}
				for j, a := range list(rule["actions"]) {
					if action, _ := a.(map[string]any); matches(action["action"], "describe") {
						out = append(out, f.describeRule(action, fmt.Sprintf("%s.actions[%d]", at, j)))
					}
				}
			}
		}
	}
	return out
}

func (f *File) describeRule(rule map[string]any, at string) DescribeRule {
	r := DescribeRule{
		File: f.Name, Line: f.line(at), file: f, condition: rule["condition"],
		derivedRoles: list(either(rule, "derivedRoles", "derived_roles")),
	}
	condition, _ := rule["condition"].(map[string]any)
	r.collect(condition["match"], at+".condition.match")
	return r
}

// collect gathers the expressions of a match, however deep.
func (r *DescribeRule) collect(match any, at string) {
	m, _ := match.(map[string]any)
	if text, ok := m["expr"].(string); ok {
		r.Expressions = append(r.Expressions, Expression{strings.TrimSpace(text), r.file.line(at + ".expr")})
	}
	for _, of := range []string{"all", "any", "none"} {
		inner, _ := m[of].(map[string]any)
		for i, next := range list(inner["of"]) {
			r.collect(next, fmt.Sprintf("%s.%s.of[%d]", at, of, i))
		}
	}
}

// Alone is the rule, or one expression of it where e is not nil, as a policy by
// itself about another kind of resource: at the root scope and for every role, so
// that nothing but its condition decides. It is JSON, as Cerbos reads it.
func (r DescribeRule) Alone(resource string, e *Expression) ([]byte, error) {
	rule := map[string]any{"actions": []string{"describe"}, "effect": "EFFECT_ALLOW"}
	condition := r.condition
	if e != nil {
		condition = map[string]any{"match": map[string]any{"expr": e.Text}}
	}
	if condition != nil {
		rule["condition"] = condition
	}
	if len(r.derivedRoles) > 0 && e == nil {
		rule["derivedRoles"] = r.derivedRoles
	} else {
		rule["roles"] = []string{"*"}
	}
	body := map[string]any{"resource": resource, "version": "default", "rules": []any{rule}}
	for _, name := range [][2]string{{"variables", "variables"}, {"constants", "constants"}, {"importDerivedRoles", "import_derived_roles"}} {
		if v := either(r.file.body, name[0], name[1]); v != nil {
			body[name[0]] = v
		}
	}
	policy := map[string]any{"apiVersion": "api.cerbos.dev/v1", "resourcePolicy": body}
	if v := r.file.whole["variables"]; v != nil {
		policy["variables"] = v
	}
	return json.Marshal(policy)
}

// Shared are the files that other policies draw on: derived roles, variables and
// constants.
func (s *Set) Shared() []string {
	var out []string
	for _, f := range s.Files {
		if f.Kind == Other {
			out = append(out, f.Name)
		}
	}
	return out
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

// matches reports whether a pattern of a policy, which may have stars, covers name.
func matches(pattern any, name string) bool {
	text, _ := pattern.(string)
	covers, err := path.Match(text, name)
	return err != nil || covers // what is no pattern is looked at all the same
}

func anyMatches(patterns any, name string) bool {
	return slices.ContainsFunc(list(patterns), func(p any) bool { return matches(p, name) })
}

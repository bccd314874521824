package operation

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/pbmb/pbmb/policies"
)

// An Effect says what calling an operation does to the world. Every transport
// derives its own hints from it.
type Effect int

const (
	Reads    Effect = iota + 1 // changes nothing
	Adds                       // each call adds something
	Replaces                   // calling twice is calling once
	Removes                    // loses something
)

// A Surface is a way in that serves an operation.
type Surface int

const (
	Connector Surface = 1 << iota // the MCP server
	API                           // REST and, through it, the command line
	Browser                       // REST, but from a browser session alone
)

// A Rate says how often one principal may call an operation. The zero value is
// no limit: reads of the book cost less than counting them.
type Rate struct {
	PerMinute int
}

// An Operation is one thing a caller can do. In and Out are flat JSON structs and
// are the only description of its input and output: tags give names, descriptions
// and limits.
type Operation[In, Out any] struct {
	Name     string // the MCP tool and the OpenAPI operation: "list_columns"
	Title    string // a few words for people
	Doc      string // what a caller who has never seen the product needs to know
	Route    string // "GET /columns"; a name in braces is an input field taken from the path
	Command  string // "columns list"; <x> in it is an input field taken from the command line, <x...> takes all that is left
	Surfaces Surface
	Effect   Effect
	Ask      Question[In]
	Rate     Rate
	Handle   func(context.Context, *Call, In) (Out, error)
}

// A Question is what is asked of policies before the handler runs. Make one with
// [OnBook], [OnBookOf], [OnAdmin], [OnAdminOf], [OnDataset], [OnVisible] or [OwnAccount]; an operation
// without one does not register.
type Question[In any] struct {
	kind    questionKind
	action  policies.Action
	dataset func(In) string
}

type questionKind int

const (
	noQuestion questionKind = iota
	askBook
	askAdmin
	askDataset
	askVisible
	askListed
	askNothing
)

// OnBook asks for action on the book as a whole.
func OnBook[In any](action policies.Action) Question[In] {
	return Question[In]{kind: askBook, action: action}
}

// OnBookOf asks for action on the book, and then finds the dataset that the input
// names as [OnDataset] does, asking for describe on it: what is written is about
// something that the caller can see.
func OnBookOf[In any](action policies.Action, dataset func(In) string) Question[In] {
	return Question[In]{kind: askBook, action: action, dataset: dataset}
}

// OnAdmin asks for an admin action.
func OnAdmin[In any](action policies.Action) Question[In] {
	return Question[In]{kind: askAdmin, action: action}
}

// OnAdminOf asks for an admin action, and then finds the dataset that the input
// names as [OnDataset] does, among those that the admin may describe.
func OnAdminOf[In any](action policies.Action, dataset func(In) string) Question[In] {
	return Question[In]{kind: askAdmin, action: action, dataset: dataset}
}

// OnDataset finds the dataset that the input names, as the caller may see it,
// asks for action on it, and hands it to the handler in [Call.Dataset].
func OnDataset[In any](action policies.Action, dataset func(In) string) Question[In] {
	return Question[In]{kind: askDataset, action: action, dataset: dataset}
}

// OnVisible asks for no single thing: the handler lists or searches, and the
// visibility in its [Call] says what of it the caller may see. The book's read
// action is asked first. Where the input names a dataset, it is found as
// [OnDataset] does; an empty name means every visible dataset.
func OnVisible[In any](dataset func(In) string) Question[In] {
	return Question[In]{kind: askVisible, action: policies.Describe, dataset: dataset}
}

// OnListed asks what [OnVisible] does, and leaves finding the dataset that the
// input names to the handler: one that lists can look it up by [Call.Name] in the
// very statement that lists, under the same visibility, and calls [Call.Find] only
// where that tells of none or of several.
func OnListed[In any](dataset func(In) string) Question[In] {
	return Question[In]{kind: askListed, action: policies.Describe, dataset: dataset}
}

// OwnAccount asks nothing beyond the role gate: the operation concerns the
// caller's own account alone. The operations that may use it are a closed list.
func OwnAccount[In any]() Question[In] { return Question[In]{kind: askNothing} }

// ownAccount is the closed list of operations that ask nothing (AUTHZ-05).
var ownAccount = []string{"whoami", "list_my_grants", "end_my_grant", "disconnect_power_bi"}

// A Def is an Operation without its types, as the catalogue and the transports
// use it. Only [Guard.Call] can run it.
type Def struct {
	Name, Title, Doc string
	Method, Path     string // Path starts with a slash and is below /api/v1
	Command          string
	Surfaces         Surface
	Effect           Effect
	Rate             Rate
	Action           policies.Action // what is asked; empty for the caller's own account
	Kind             policies.Kind   // and of what kind of resource

	PathParams []string
	In, Out    reflect.Type
	Input      *huma.Schema // without references
	Output     *huma.Schema // without references

	question questionKind
	types    huma.Registry
	dataset  func(any) string
	decode   func(json.RawMessage) (any, error)
	handle   func(context.Context, *Call, any) (any, error)
}

var (
	braces   = regexp.MustCompile(`\{(\w+)\}`)
	toolName = regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)
)

// Def erases the types. It panics on a declaration that contradicts itself; the
// catalogue's test builds every operation.
func (o Operation[In, Out]) Def() *Def {
	d := &Def{
		Name: o.Name, Title: o.Title, Doc: o.Doc, Command: o.Command, Surfaces: o.Surfaces, Effect: o.Effect, Rate: o.Rate,
		In: reflect.TypeFor[In](), Out: reflect.TypeFor[Out](),
		Action: o.Ask.action, question: o.Ask.kind, types: NewTypes(),
	}
	d.Input, d.Output = inline(d.In), inline(d.Out)
	switch o.Ask.kind {
	case askBook:
		d.Kind = policies.KindBook
	case askAdmin:
		d.Kind = policies.KindAdmin
	case askDataset, askVisible, askListed:
		d.Kind = policies.KindDataset
	}
	if o.Ask.dataset != nil {
		d.dataset = func(in any) string { return o.Ask.dataset(in.(In)) }
	}
	if err := d.check(o.Route); err != nil {
		panic(fmt.Sprintf("operation %q: %v", o.Name, err))
	}
	if o.Handle == nil {
		panic(fmt.Sprintf("operation %q has no handler", o.Name))
	}
	d.decode = func(raw json.RawMessage) (any, error) {
		var in In
		err := decode(d.types, d.Input, raw, &in)
		return in, err
	}
	d.handle = func(ctx context.Context, c *Call, in any) (any, error) { return o.Handle(ctx, c, in.(In)) }
	return d
}

func (d *Def) check(route string) error {
	var found bool
	if d.Method, d.Path, found = strings.Cut(route, " "); !found || !strings.HasPrefix(d.Path, "/") {
		return fmt.Errorf("route %q is not a method and a path", route)
	}
	switch {
	case !toolName.MatchString(d.Name) || len(d.Name) > 40:
		return fmt.Errorf("the name is not lower-case words joined by underscores")
	case d.Title == "" || d.Doc == "" || d.Command == "":
		return fmt.Errorf("title, doc and command are needed")
	case d.Effect < Reads || d.Effect > Removes:
		return fmt.Errorf("it declares no effect")
	case d.Surfaces == 0:
		return fmt.Errorf("no surface serves it")
	case d.question == noQuestion:
		return fmt.Errorf("it asks policies nothing")
	case d.question == askNothing && !slices.Contains(ownAccount, d.Name):
		return fmt.Errorf("it asks policies nothing and is not on the list of those that may")
	case d.Method == "GET" && d.Effect != Reads:
		return fmt.Errorf("a GET must only read")
	}
	for _, m := range braces.FindAllStringSubmatch(d.Path, -1) {
		if d.Input.Properties[m[1]] == nil {
			return fmt.Errorf("path parameter %q is not an input field", m[1])
		}
		d.PathParams = append(d.PathParams, m[1])
	}
	return nil
}

// decode fills defaults, refuses what the schema does not allow, with every
// problem named at once, and reads raw into in.
func decode(types huma.Registry, schema *huma.Schema, raw json.RawMessage, in any) error {
	args := map[string]any{}
	// No arguments, an empty text and null mean the same: clients differ in which they send.
	if raw = bytes.TrimSpace(raw); len(raw) > 0 && string(raw) != "null" {
		if err := json.Unmarshal(raw, &args); err != nil {
			return &Error{Kind: Invalid, Sentence: "The arguments are not a JSON object.", Next: validArguments(schema), Names: argumentNames(schema)}
		}
	}
	var problems, unknown []string
	for name := range args {
		if schema.Properties[name] == nil {
			unknown = append(unknown, fmt.Sprintf("unknown argument %q", name))
			delete(args, name)
		}
	}
	slices.Sort(unknown)
	problems = append(problems, unknown...)
	// An argument that is null is one that was left out, with its default; clients that
	// write every argument say so.
	maps.DeleteFunc(args, func(_ string, value any) bool { return value == nil })
	for name, s := range schema.Properties {
		if _, given := args[name]; !given && s.Default != nil {
			args[name] = s.Default
		}
	}
	result := &huma.ValidateResult{}
	huma.Validate(types, schema, huma.NewPathBuffer(nil, 0), huma.ModeWriteToServer, args, result)
	for _, err := range result.Errors {
		problems = append(problems, describe(err))
	}
	for _, name := range slices.Sorted(maps.Keys(args)) {
		if holdsNUL(args[name]) {
			problems = append(problems, fmt.Sprintf("argument %q: expected no NUL character", name))
		}
	}
	if len(problems) > 0 {
		return &Error{Kind: Invalid, Sentence: sentence(problems), Next: validArguments(schema), Names: argumentNames(schema)}
	}
	whole, err := json.Marshal(args)
	if err != nil {
		return fmt.Errorf("encoding arguments: %w", err)
	}
	if err := json.Unmarshal(whole, in); err != nil {
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok { // a number that is valid and too large
			return Invalidf(validArguments(schema), "Argument %q: %s is out of range.", wrong.Field, wrong.Value)
		}
		return fmt.Errorf("decoding arguments: %w", err)
	}
	return nil
}

// holdsNUL reports whether a text of v has the one character that PostgreSQL does
// not keep.
func holdsNUL(v any) bool {
	switch v := v.(type) {
	case string:
		return strings.ContainsRune(v, 0)
	case []any:
		return slices.ContainsFunc(v, holdsNUL)
	case map[string]any:
		for name, inner := range v {
			if holdsNUL(name) || holdsNUL(inner) {
				return true
			}
		}
	}
	return false
}

// describe makes huma's finding a phrase that names the argument.
func describe(err error) string {
	detail, ok := err.(*huma.ErrorDetail)
	if !ok {
		return err.Error()
	}
	if name, found := strings.CutPrefix(detail.Message, "expected required property "); found {
		return fmt.Sprintf("argument %q is missing", strings.TrimSuffix(name, " to be present"))
	}
	if detail.Location == "" {
		return detail.Message
	}
	return fmt.Sprintf("argument %q: %s", detail.Location, detail.Message)
}

func sentence(problems []string) string {
	text := strings.Join(problems, "; ") + "."
	return strings.ToUpper(text[:1]) + text[1:]
}

func validArguments(schema *huma.Schema) string {
	names := argumentNames(schema)
	if len(names) == 0 {
		return "It takes no arguments."
	}
	return "Valid arguments: " + strings.Join(names, ", ") + "."
}

// argumentNames returns the names of a schema's properties: the required ones
// first, each group sorted.
func argumentNames(schema *huma.Schema) []string {
	required := slices.Sorted(slices.Values(schema.Required))
	var optional []string
	for name := range schema.Properties {
		if !slices.Contains(required, name) {
			optional = append(optional, name)
		}
	}
	slices.Sort(optional)
	return append(required, optional...)
}

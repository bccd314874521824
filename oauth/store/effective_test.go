package store_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pbmb/pbmb/oauth/oauthtest"
	"github.com/pbmb/pbmb/oauth/store"
	"github.com/pbmb/pbmb/policies"
)

// ROLES-36: every role has each of its sources, and the sources say at every moment
// what the person's requests find.
func TestWhereRolesComeFrom(t *testing.T) {
	f := newFixture(t)
	f.bind()
	boss := &policies.Principal{Kind: policies.Person, ID: oauthtest.OtherID, Email: "admin@sample.example", Via: policies.ViaCLI}
	in := microsoft("ada@sample.example", ada)
	in.GroupIDs, in.GroupsRead = []string{groupA, groupB}, true
	person := f.mustSignIn(in)
	google := store.SignIn{
		Provider: "acme", AccountID: "7", Email: "gus@other.example", EmailVerified: true, VouchedDomain: "other.example", GroupIDs: []string{"Team"},
	}
	f.assign("viewer", store.ToDomain, "other.example")
	gus := f.mustSignIn(google)

	look := func(p *store.Caller, email string) (sources []string) {
		t.Helper()
		people, _, err := f.Effective(t.Context(), email)
		if err != nil || len(people) != 1 || people[0].PersonID != p.PersonID {
			t.Fatalf("%s: %+v, %v", email, people, err)
		}
		if got, want := people[0].Roles(), f.now(p).Roles; !slices.Equal(got, want) {
			t.Errorf("the sources give %s the roles %q, their requests have %q", email, got, want)
		}
		for _, a := range people[0].Given {
			sources = append(sources, a.Role+" "+strings.TrimSpace(a.Kind+" "+a.Subject))
		}
		if people[0].Default != "" {
			sources = append(sources, people[0].Default+" default")
		}
		return sources
	}
	give := func(a store.Assignment) {
		t.Helper()
		if _, err := f.Assign(t.Context(), boss, a, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct {
		what string
		do   func()
		ada  []string
		gus  []string
	}{
		{"at first", func() {}, []string{"viewer default"}, []string{"viewer domain other.example"}},
		{"with a role of the deployment's own", func() { give(store.Assignment{Role: "steward", Kind: store.ToTenant}) },
			[]string{"steward tenant", "viewer default"}, []string{"viewer domain other.example"}},
		{"with a group's", func() {
			give(store.Assignment{Role: "curator", Kind: store.ToGroup, Provider: store.Microsoft, Subject: groupB})
		},
			[]string{"curator group " + groupB, "steward tenant"}, []string{"viewer domain other.example"}},
		{"with another provider's group", func() { give(store.Assignment{Role: "admin", Kind: store.ToGroup, Provider: "acme", Subject: "Team"}) },
			[]string{"curator group " + groupB, "steward tenant"}, []string{"admin group Team", "viewer domain other.example"}},
		{"with the same role twice more", func() {
			give(store.Assignment{Role: "curator", Kind: store.ToPerson, Subject: "ADA@sample.example"})
			give(store.Assignment{Role: "curator", Kind: store.ToDomain, Subject: "sample.example"})
		}, []string{"curator domain sample.example", "curator group " + groupB, "curator person ada@sample.example", "steward tenant"},
			[]string{"admin group Team", "viewer domain other.example"}},
		{"8 days after all of it was seen", func() {
			f.db.Exec("update person_identity set signed_in_at = now() - interval '8 days', groups_read_at = now() - interval '8 days'")
			f.db.Exec("update person_sign_in set signed_in_at = now() - interval '8 days'")
		}, []string{"curator person ada@sample.example"}, nil},
		{"read anew over their own connection", func() {
			f.db.Exec(`insert into powerbi_connection (person_id, state, object_id, group_ids, groups_read_at) values ($1, 'connected', $2, array[$3]::uuid[], now())`, person.PersonID, ada, groupB)
		}, []string{"curator group " + groupB, "curator person ada@sample.example", "steward tenant"}, nil},
		{"over a connection of another account", func() { f.db.Exec(`update powerbi_connection set object_id = $1`, groupA) },
			[]string{"curator person ada@sample.example"}, nil},
		{"signed in again, with no default", func() {
			f.setting("access.default_role", "none")
			f.db.Exec("delete from role_assignment where role = 'curator'")
			f.db.Exec("update person_identity set signed_in_at = now()")
		}, []string{"steward tenant"}, nil},
		{"with curator by default", func() { f.setting("access.default_role", "curator") }, []string{"steward tenant", "curator default"}, nil},
		{"in a database that is not bound", func() { f.db.Exec("delete from deployment_tenant") }, []string{"steward tenant"}, nil},
	} {
		step.do()
		if d := cmp.Diff(step.ada, look(person, "Ada@sample.example")); d != "" {
			t.Errorf("%s, ada (-want +got):\n%s", step.what, d)
		}
		if d := cmp.Diff(step.gus, look(gus, "gus@other.example")); d != "" {
			t.Errorf("%s, gus (-want +got):\n%s", step.what, d)
		}
	}
}

// ROLES-36: what waits for an email is no role of whoever else has it.
func TestRolesThatWait(t *testing.T) {
	f := newFixture(t)
	f.bind()
	f.assign("curator", store.ToPerson, "new@sample.example")
	people, waiting, err := f.Effective(t.Context(), "new@sample.example")
	if err != nil || len(people) != 0 || len(waiting) != 1 || waiting[0].Role != "curator" {
		t.Errorf("before anybody has come: %+v %+v %v", people, waiting, err)
	}
	in := microsoft("new@sample.example", ada)
	in.EmailVerified = false
	f.mustSignIn(in)
	people, waiting, err = f.Effective(t.Context(), "new@sample.example")
	if err != nil || len(people) != 1 || !slices.Equal(people[0].Roles(), []string{"viewer"}) || len(waiting) != 1 {
		t.Errorf("after somebody came whose email is not verified: %+v %+v %v", people, waiting, err)
	}
}

// ROLES-34: a change says what became of everybody whom it reaches, and of nobody else.
func TestWhatAChangeDid(t *testing.T) {
	f := newFixture(t)
	f.bind()
	boss := &policies.Principal{Kind: policies.Person, ID: oauthtest.OtherID, Email: "admin@sample.example", Via: policies.ViaCLI}
	in := microsoft("ada@sample.example", ada)
	in.GroupIDs, in.GroupsRead = []string{groupA}, true
	f.mustSignIn(in)
	f.mustSignIn(microsoft("bob@sample.example", oauthtest.OtherID))
	says := func(c store.Change, err error) (list []string) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range c.People {
			list = append(list, p.After.Email+": "+strings.Join(p.Before.Roles(), "+")+" to "+strings.Join(p.After.Roles(), "+"))
		}
		return list
	}
	assign := func(a store.Assignment) (string, []string) {
		c, err := f.Assign(t.Context(), boss, a, time.Now())
		return c.Assignment.ID, says(c, err)
	}
	person, got := assign(store.Assignment{Role: "curator", Kind: store.ToPerson, Subject: "ada@sample.example"})
	if want := []string{"ada@sample.example: viewer to curator"}; !slices.Equal(got, want) {
		t.Errorf("a person: %q", got)
	}
	if _, got := assign(store.Assignment{Role: "curator", Kind: store.ToPerson, Subject: "ada@sample.example"}); !slices.Equal(got, []string{"ada@sample.example: curator to curator"}) {
		t.Errorf("again: %q", got)
	}
	group, got := assign(store.Assignment{Role: "pii_reader", Kind: store.ToGroup, Subject: groupA, Provider: store.Microsoft})
	if want := []string{"ada@sample.example: curator to curator+pii_reader"}; !slices.Equal(got, want) {
		t.Errorf("a group: %q", got)
	}
	_, got = assign(store.Assignment{Role: "curator", Kind: store.ToDomain, Subject: "sample.example"})
	slices.Sort(got)
	if want := []string{"ada@sample.example: curator+pii_reader to curator+pii_reader", "bob@sample.example: viewer to curator"}; !slices.Equal(got, want) {
		t.Errorf("a domain: %q", got)
	}
	if _, got := assign(store.Assignment{Role: "curator", Kind: store.ToPerson, Subject: "new@sample.example"}); len(got) != 0 {
		t.Errorf("somebody who has not come: %q", got)
	}
	f.assign("viewer", store.ToPerson, "new@sample.example")
	if c, err := f.Assign(t.Context(), boss, store.Assignment{Role: "admin", Kind: store.ToPerson, Subject: "new@sample.example"}, time.Now()); err != nil || !slices.Equal(c.Waiting, []string{"curator", "viewer"}) {
		t.Errorf("what waits beside it: %+v %v", c, err)
	}
	if got := says(f.Revoke(t.Context(), boss, group)); !slices.Equal(got, []string{"ada@sample.example: curator+pii_reader to curator"}) {
		t.Errorf("taking the group's away: %q", got)
	}
	// Whoever claimed it is known by another email by now.
	f.mustSignIn(microsoft("ada.king@sample.example", ada))
	if got := says(f.Revoke(t.Context(), boss, person)); !slices.Equal(got, []string{"ada.king@sample.example: curator to curator"}) {
		t.Errorf("taking the person's away: %q", got)
	}
	if c, err := f.Revoke(t.Context(), boss, person); err == nil {
		t.Errorf("again: %+v", c)
	}
}

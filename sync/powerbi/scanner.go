package powerbi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// MaxScan is how many workspaces one scan takes.
const MaxScan = 100

// A Workspace as a scan gives it. The types below name what we keep and nothing
// else: expressions of Power Query, sources and parameters of a dataset have no
// field here, so no code behind this package ever holds one.
type Workspace struct {
	ID          string
	Name        string
	Description string
	Type        string
	State       string

	// DataRetrievalState is Success where the scan has all of the workspace.
	DataRetrievalState string

	Datasets []Dataset
	Reports  []Report
	Users    []Access

	// Unreadable counts what of it was of another shape than is documented, and is
	// left out.
	Unreadable int `json:"-"`
}

// A Dataset as a scan gives it.
type Dataset struct {
	ID                     string
	Name                   string
	Description            string
	ConfiguredBy           string
	TargetStorageMode      string
	ContentProviderType    string // such as PbixInDirectQueryMode
	IdentityRolesRequired  bool   `json:"isEffectiveIdentityRolesRequired"`
	SchemaRetrievalError   string // why there are no tables
	SchemaMayNotBeUpToDate bool
	Tables                 []Table
	Roles                  []Role
	Endorsement            Endorsement `json:"endorsementDetails"`
	SensitivityLabel       Label
	Users                  []Access
}

// An Endorsement is Promoted, Certified or empty.
type Endorsement struct{ Endorsement string }

// A Label is a sensitivity label.
type Label struct{ LabelID string }

// A Table of a scanned dataset.
type Table struct {
	Name        string
	Description string
	IsHidden    bool
	Columns     []Column
	Measures    []Measure
}

// A Column of a scanned table.
type Column struct {
	Name        string
	Description string
	DataType    string
	ColumnType  string
	IsHidden    bool
	Expression  string // the DAX of a calculated column
}

// A Measure of a scanned table.
type Measure struct {
	Name        string
	Description string
	Expression  string // DAX
	IsHidden    bool
}

// A Role of a scanned dataset.
type Role struct {
	Name             string
	Members          []RoleMember
	TablePermissions []TablePermission
}

// A RoleMember is somebody whom a role is given to.
type RoleMember struct {
	MemberName string
	MemberID   string
	MemberType string
}

// A TablePermission is a role's filter on a table, in DAX.
type TablePermission struct {
	Name             string
	FilterExpression string
}

// A Report as a scan gives it. The copy of a report in an app has AppID and
// OriginalReportObjectID.
type Report struct {
	ID                     string
	Name                   string
	DatasetID              string
	AppID                  string
	OriginalReportObjectID string
}

// An Access is one entry of an access list. Names and addresses are not read:
// entries are matched by object id alone.
type Access struct {
	Right         string // as Power BI spells it; empty where it gave none
	ObjectID      string // empty where Power BI gave none
	PrincipalType string
}

// UnmarshalJSON takes the right from whichever property has it: Power BI names
// it after the kind of the item, and does not always keep to that.
func (a *Access) UnmarshalJSON(b []byte) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(b, &members); err != nil {
		return nil // it gives nobody anything: an entry that cannot be used
	}
	var identifier string
	for key, value := range members {
		var s string
		if json.Unmarshal(value, &s) != nil {
			continue
		}
		switch key = strings.ToLower(key); {
		case strings.HasSuffix(key, "useraccessright"):
			a.Right = s
		case key == "graphid":
			a.ObjectID = s
		case key == "identifier":
			identifier = s
		case key == "principaltype":
			a.PrincipalType = s
		}
	}
	// A person's identifier is a name that can be given to somebody else later.
	if a.ObjectID == "" && !strings.EqualFold(a.PrincipalType, "User") {
		a.ObjectID = identifier
	}
	return nil
}

// ModifiedWorkspaces lists the workspaces that changed since a time, which has to
// lie between 30 minutes and 30 days back, or all of them where it is zero.
func (c *Client) ModifiedWorkspaces(ctx context.Context, token string, since time.Time) ([]string, error) {
	path := "/admin/workspaces/modified?excludeInActiveWorkspaces=true"
	if !since.IsZero() {
		path += "&modifiedSince=" + url.QueryEscape(since.UTC().Format("2006-01-02T15:04:05.0000000Z"))
	}
	var out []struct{ ID string }
	if err := c.get(ctx, token, path, &out); err != nil {
		return nil, fmt.Errorf("listing workspaces: %w", err)
	}
	ids := make([]string, len(out))
	for i, w := range out {
		ids[i] = w.ID
	}
	return ids, nil
}

// A Scan is where a scan stands.
type Scan struct {
	ID     string
	Status string
	Error  struct{ Code string }
}

// Expired reports whether err says that Power BI has a scan no longer, which it
// keeps for a day.
func Expired(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Status == http.StatusNotFound
}

// Done reports whether the scan ended well.
func (s Scan) Done() bool { return strings.EqualFold(s.Status, "Succeeded") }

// Going reports whether it has not ended.
func (s Scan) Going() bool {
	return strings.EqualFold(s.Status, "NotStarted") || strings.EqualFold(s.Status, "Running")
}

// StartScan has Power BI gather everything about at most [MaxScan] workspaces.
func (c *Client) StartScan(ctx context.Context, token string, workspaceIDs []string) (Scan, error) {
	in := struct {
		Workspaces []string `json:"workspaces"`
	}{workspaceIDs}
	var s Scan
	// The expressions are asked for because measures come with them.
	const flags = "?lineage=false&datasourceDetails=false&datasetSchema=true&datasetExpressions=true&getArtifactUsers=true"
	if err := c.exchange(ctx, token, http.MethodPost, "/admin/workspaces/getInfo"+flags, in, &s); err != nil {
		return Scan{}, fmt.Errorf("starting a scan: %w", err)
	}
	return s, nil
}

// ScanStatus asks where a scan stands.
func (c *Client) ScanStatus(ctx context.Context, token, scanID string) (Scan, error) {
	var s Scan
	if err := c.get(ctx, token, "/admin/workspaces/scanStatus/"+escape(scanID), &s); err != nil {
		return Scan{}, fmt.Errorf("asking for a scan: %w", err)
	}
	return s, nil
}

// ScanResult reads the result of a scan and calls each for every workspace in it
// as it comes, so that no more than one is in memory.
func (c *Client) ScanResult(ctx context.Context, token, scanID string, each func(*Workspace) error) error {
	a, err := c.open(ctx, token, http.MethodGet, "/admin/workspaces/scanResult/"+escape(scanID), nil)
	if err != nil {
		return fmt.Errorf("reading a scan: %w", err)
	}
	defer a.close()
	r := reader{Decoder: json.NewDecoder(a)}
	given, found := error(nil), false
	err = r.object(func(key string) error {
		if !strings.EqualFold(key, "workspaces") {
			return r.Decode(new(skipped))
		}
		found = true
		return r.array(func() error {
			w, err := r.workspace()
			if err != nil {
				return err
			}
			given = each(w)
			return given
		})
	})
	switch {
	case given != nil:
		return given
	case err != nil:
		return fmt.Errorf("reading a scan: %w", a.unreadable(err))
	case !found:
		return fmt.Errorf("reading a scan: %w", a.unreadable(ErrShape))
	}
	return nil
}

// An App as the admin list gives it.
type App struct {
	ID          string
	Name        string
	Description string
	WorkspaceID string
}

// Apps lists the apps of the tenant.
func (c *Client) Apps(ctx context.Context, token string) ([]App, error) {
	const page = 5000
	var apps []App
	for {
		var out struct{ Value []App }
		path := "/admin/apps?$top=" + strconv.Itoa(page)
		if len(apps) > 0 {
			path += "&$skip=" + strconv.Itoa(len(apps))
		}
		if err := c.get(ctx, token, path, &out); err != nil {
			return nil, fmt.Errorf("listing apps: %w", err)
		}
		apps = append(apps, out.Value...)
		if len(out.Value) < page {
			return apps, nil
		}
	}
}

// AppUsers lists an app's audience.
func (c *Client) AppUsers(ctx context.Context, token, appID string) ([]Access, error) {
	var out struct{ Value []Access }
	if err := c.get(ctx, token, "/admin/apps/"+escape(appID)+"/users", &out); err != nil {
		return nil, fmt.Errorf("listing an app's users: %w", err)
	}
	return out.Value, nil
}

func escape(segment string) string { return url.PathEscape(segment) }

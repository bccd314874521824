package sample

import "fmt"

// What changes of how the tenant behaves take.
type failedScans struct {
	Count   int    `json:"count" doc:"how many of the next scans fail"`
	Code    string `json:"code" doc:"code of the error; empty means one of Power BI's"`
	Message string `json:"message" doc:"sentence of the error"`
}

// faultChanges are those of how the tenant behaves, and not of what it has.
func faultChanges() []Change {
	return []Change{
		declare("faults", "fault <path>", "makes requests go wrong: slow, throttled, failing, cut off",
			func(t *Tenant, f Fault) error {
				switch {
				case f.Path == "":
					return fmt.Errorf("path is missing: what a request's path starts with, such as %s, or a part of it after a *", PowerBIPath)
				case f.Path[0] != '/' && f.Path[0] != '*':
					return fmt.Errorf("path is %q, and must start with / as the path of a request does, or with * to stand for any start", f.Path)
				case f.Status == 0 && f.DelayMS == 0 && !f.Drop:
					return fmt.Errorf("nothing would go wrong: give status, delay_ms or drop")
				case f.Status != 0 && (f.Status < 200 || f.Status > 599):
					return fmt.Errorf("status is %d, and must be one of HTTP from 200 to 599", f.Status)
				case f.Count < 0 || f.DelayMS < 0 || f.RetryAfter < 0:
					return fmt.Errorf("count, delay_ms and retry_after must not be less than 0")
				}
				t.Break(f)
				return nil
			}),
		declare("faults/clear", "mend", "takes all faults away",
			func(t *Tenant, _ nothing) error { t.Mend(); return nil }),
		declare("scans/fail", "scan fail <count>", "makes the next scans of the admin API end as failed",
			func(t *Tenant, in failedScans) error {
				if in.Count < 1 {
					return fmt.Errorf("count is %d, and must be at least 1", in.Count)
				}
				t.mu.Lock()
				defer t.mu.Unlock()
				t.failing = in
				return nil
			}),
		declare("keys/rotate", "key rotate", "makes Entra sign tokens with a new key",
			func(t *Tenant, _ nothing) error { return t.RotateKeys() }),
	}
}

// RotateKeys makes Entra sign with a new key.
func (t *Tenant) RotateKeys() error { return t.keys.rotate(t.now()) }

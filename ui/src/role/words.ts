import type { RoleAssignment } from "../api/operations";

// The roles that the product has, and what each is for. A narrow one is given to
// people and groups alone.
export const shipped = [
  { name: "viewer", opens: "search, read and query", narrow: false },
  { name: "curator", opens: "edits the book too", narrow: false },
  { name: "admin", opens: "everything", narrow: true },
  { name: "pii_reader", opens: "personal data, beside another role", narrow: true },
];

export type Target = "person" | "domain" | "group" | "everybody";

export const targets: { target: Target; name: string; wide: boolean; subject?: string; hint?: string; example?: string }[] = [
  { target: "person", name: "A person", wide: false, subject: "Email", hint: "it waits for them where they have not come yet", example: "ada@sample.example" },
  { target: "domain", name: "An email domain", wide: true, subject: "Domain", hint: "everybody whose provider vouches for it", example: "sample.example" },
  { target: "group", name: "A group", wide: false, subject: "Group id", hint: "as the provider's tokens have it" },
  { target: "everybody", name: "Everybody in the tenant", wide: true },
];

// givenTo says whom an assignment is for, as what gives somebody a role.
export function givenTo(a: RoleAssignment): string {
  switch (a.kind) {
    case "domain":
      return `everybody of ${a.subject}`;
    case "group":
      return `group ${a.subject} of ${a.provider}`;
    case "tenant":
      return "everybody in the tenant";
    case "default":
      return "the default role (setting access.default_role)";
  }
  return a.subject ?? "";
}

// listed is "a, b and c", or that there is none.
export const listed = (roles: string[]) => (roles.length === 0 ? "no role" : new Intl.ListFormat("en", { type: "conjunction" }).format(roles));

// What the sign-in page says for each code that the api sends it with. The link
// to this page can be anybody's, so nothing of its words is ever shown: no
// error_description, and one sentence for every code that is not here.
const sentences = new Map([
  ["access_denied", "The sign-in was cancelled. Nothing has changed."],
  ["no_role", "Nobody has given you access here yet. Ask an admin of this deployment for a role."],
  ["no_email", "Your account gave no email address that this deployment can rely on. Ask an admin for help."],
  ["wrong_tenant", "That account belongs to another organisation. Choose your account of this one."],
  ["refused", "The answer of the sign-in service could not be trusted, so nobody was signed in. Try again."],
  ["expired", "That sign-in took too long or was already used. Start again."],
  ["unavailable", "The sign-in service did not answer. Try again in a minute."],
  ["dev_sign_in_account", "This account was made by the development sign-in and cannot be used here. Ask an admin to remove it."],
]);

const unknown = "The sign-in did not work. Try again.";

export function errorSentence(code: string | null): string | undefined {
  if (code === null) return undefined;
  return sentences.get(code) ?? unknown;
}

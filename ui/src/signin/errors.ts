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
  ["passkey_refused", "That passkey is not known here, or it did not prove that you unlocked it. Sign in another way."],
  ["passkey_count", "That passkey may have been copied, so it was not let in. Sign in another way and remove it."],
  ["passkey_cancelled", "No passkey was used. Try again, or sign in another way."],
  ["sign_in_due", "It is more than 7 days since you signed in another way. Do so once; then your passkey works again."],
  ["rate_limited", "There were too many attempts from your network. Wait a minute, then try again."],
]);

const unknown = "The sign-in did not work. Try again.";

export function errorSentence(code: string | null): string | undefined {
  if (code === null) return undefined;
  return sentences.get(code) ?? unknown;
}

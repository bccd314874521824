// What the page says of a test sign-in that failed, for each code that the api
// sends the browser back with. The address can be anybody's, so nothing of its
// words is shown.
const sentences = new Map([
  ["access_denied", "The test sign-in was cancelled at the provider. Nothing has changed."],
  [
    "no_email",
    "The provider's ID token has no email that it says is verified: email_verified must be true in it. Without one nobody could be told apart here.",
  ],
  [
    "refused",
    "The provider's answer was not accepted: its client secret, its keys, or what its ID token says of issuer, audience, expiry or nonce. The log has the reason under the request's id.",
  ],
  ["expired", "That test sign-in took too long, was already used, or was started in another session. Test again."],
  ["unavailable", "The provider did not answer. Try again in a minute."],
]);

export function failureSentence(code: string | null): string | undefined {
  if (code === null) return undefined;
  return sentences.get(code) ?? "The test sign-in did not work. Test again.";
}

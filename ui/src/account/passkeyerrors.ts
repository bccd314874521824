// What the page says for each code that adding a passkey can end with.
const sentences = new Map([
  ["passkey_cancelled", "No passkey was made. Try again, and unlock your device when it asks."],
  ["passkey_exists", "This device has a passkey of yours already."],
  ["passkey_many", "You have as many passkeys as there may be. Remove one first."],
  ["passkey_name", "A passkey needs a name of 1 to 60 characters, on one line."],
  ["passkey_refused", "Your device did not prove that you unlocked it, so the passkey was not kept. Try again with a screen lock, or another device."],
  ["expired", "That took too long. Start again."],
  ["unauthenticated", "Your session has ended. Sign in again, then add the passkey."],
  ["rate_limited", "There were too many attempts from your network. Wait a minute, then try again."],
  ["unavailable", "The server did not answer. Try again in a minute."],
]);

const unknown = "The passkey was not added. Try again.";

export const addSentence = (code: string) => sentences.get(code) ?? unknown;

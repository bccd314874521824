// Makes REST calls as one person, by browser session, and prints the answers as JSON.
//
//   node rest.mjs ORIGIN EMAIL < calls.json
//
// Standard input is a list of {"method": …, "path": …, "body": …}.
import { readFileSync } from 'node:fs';

import { Browser } from './browser.mjs';

const [origin, email] = process.argv.slice(2);
const browser = new Browser(origin);
await browser.devSignIn(email);
const answers = [];
for (const { method, path, body } of JSON.parse(readFileSync(0, 'utf8'))) {
  const { status, body: answer, headers } = await browser.json(method, path, body);
  answers.push({ status, body: answer, headers: Object.fromEntries(headers) });
}
console.log(JSON.stringify(answers));

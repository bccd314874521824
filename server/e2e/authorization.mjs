// Runs the conformance suite's command for authorization servers. It prints an
// address for a person to open; here a browser signs in, presses Allow and follows
// the redirect back to the suite.
//
//   node authorization.mjs NODE SUITE PORT ORIGIN CLIENT-ID RESOURCE OUT
import { spawn } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

import { Browser } from './browser.mjs';

const [node, suite, port, origin, clientID, resource, out] = process.argv.slice(2);
const child = spawn(node, [
  suite, 'authorization', '--url', `${origin}/api/auth`, '--client-id', clientID, '--resource', resource,
  '-p', port, '--spec-version', '2026-07-28', '-o', out,
]);

let printed = '';
let opened = false;
async function onOutput(chunk) {
  printed += chunk;
  const address = printed.match(/https?:\/\/\S*oauth2\/authorize\?\S+(?=\s)/);
  if (!address || opened) return;
  opened = true;
  const browser = new Browser(origin);
  await browser.devSignIn('viewer@sample.example');
  const { location } = await browser.authorize(address[0]);
  await fetch(location);
}
child.stdout.on('data', (c) => onOutput(c).catch((e) => { console.error(e); child.kill(); }));
child.stderr.on('data', (c) => { printed += c; });
child.on('close', (code) => {
  const failed = [];
  let passed = 0;
  for (const entry of readdirSync(out, { recursive: true })) {
    if (!String(entry).endsWith('checks.json')) continue;
    for (const check of JSON.parse(readFileSync(join(out, String(entry)), 'utf8'))) {
      if (check.status === 'FAILURE' || check.status === 'WARNING') failed.push(check);
      if (check.status === 'SUCCESS') passed++;
    }
  }
  console.log(printed);
  console.log(`${passed} checks passed, ${failed.length} failed, exit code ${code}`);
  for (const f of failed) console.log(JSON.stringify(f));
  process.exit(passed > 0 && failed.length === 0 ? 0 : 1);
});

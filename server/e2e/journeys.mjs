// People's ways through the screens, in a real Chromium, against a running demo.
// Prints what became of each journey as JSON.
//
//   node journeys.mjs CHROMIUM ORIGIN SAMPLE-ORIGIN [FOLDER-FOR-PICTURES]
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';

import { launch, Visitor } from './chromium.mjs';

const [chromiumPath, origin, sample, shots] = process.argv.slice(2);
const viewer = 'viewer@sample.example';
const admin = 'admin@sample.example';
const outsider = 'outsider@sample.example';
const refused = 'DEFINE VAR customer_names = VALUES(Customer[Customer]) EVALUATE Customer';

const browser = await launch(chromiumPath);
const visit = (options = {}, locale = {}) => Visitor.open(browser, { origin, shots, ...options }, locale);

/** An MCP client on this computer: it registers, and waits for the browser to come back. */
async function newClient(name) {
  const server = createServer((request, response) => {
    if (request.url.startsWith('/callback')) server.emit('answer', new URL(request.url, server.origin).searchParams);
    response.setHeader('content-type', 'text/html');
    response.end('<!doctype html><html lang="en"><title>Back at the client</title><link rel="icon" href="data:,">');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  server.unref(); // a journey that breaks off leaves it open
  server.origin = `http://127.0.0.1:${server.address().port}`;
  const redirect = `${server.origin}/callback`;
  const { registration_endpoint, authorization_endpoint, token_endpoint, issuer } = await (
    await fetch(`${origin}/.well-known/oauth-authorization-server/api/auth`)
  ).json();
  const registered = await fetch(registration_endpoint, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ client_name: name, redirect_uris: [redirect], token_endpoint_auth_method: 'none' }),
  });
  assert.equal(registered.status, 201, await registered.clone().text());
  const { client_id } = await registered.json();
  const verifier = randomBytes(32).toString('base64url');
  const state = randomBytes(16).toString('base64url');
  const resource = `${origin}/api/mcp`;
  const address = `${authorization_endpoint}?${new URLSearchParams({
    response_type: 'code',
    client_id,
    redirect_uri: redirect,
    scope: 'mcp offline_access',
    state,
    resource,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  })}`;
  return {
    address,
    state,
    issuer,
    id: client_id,
    origin: server.origin,
    answer: once(server, 'answer').then(([query]) => query),
    exchange: async (code) =>
      (
        await fetch(token_endpoint, {
          method: 'POST',
          body: new URLSearchParams({ grant_type: 'authorization_code', code, client_id, redirect_uri: redirect, code_verifier: verifier, resource }),
        })
      ).json(),
    close: () => server.close(),
  };
}

/** Signs in on the sample tenant's page, from the sign-in screen on. */
async function signInWithMicrosoft(page, name) {
  await page.getByRole('link', { name: 'Sign in with Microsoft' }).click();
  await page.getByRole('heading', { name: 'Pick a sample person' }).waitFor();
  assert.equal(new URL(page.url()).origin, sample);
  await page.getByRole('button', { name }).click();
}

/** Gives a page an authenticator of this device, whose person unlocks it or does not. */
async function newAuthenticator(page) {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('WebAuthn.enable');
  const { authenticatorId } = await cdp.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      ctap2Version: 'ctap2_1',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  return {
    unlock: (isUserVerified) => cdp.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified }),
    // Clears flags in what it answers, where the browser no longer looks at them.
    deny: (bits) => cdp.send('WebAuthn.setResponseOverrideBits', { authenticatorId, ...bits }),
    credentials: async () => (await cdp.send('WebAuthn.getCredentials', { authenticatorId })).credentials,
    forget: () => cdp.send('WebAuthn.clearCredentials', { authenticatorId }),
    replace: async (credential) => {
      await cdp.send('WebAuthn.clearCredentials', { authenticatorId });
      await cdp.send('WebAuthn.addCredential', { authenticatorId, credential });
    },
  };
}

const journeys = {
  // OAUTH-47, OAUTH-49, OAUTH-50, OAUTH-51, OAUTH-52, OAUTH-54, UI-13
  'a client is allowed in': async () => {
    const client = await newClient('Ledger Lens');
    const v = await visit({ elsewhere: [sample, client.origin] });
    const { page } = v;
    // Written down as it happens, since half a second is short: when Allow came,
    // when it could be pressed, and a press as soon as it stood there.
    await page.addInitScript(() => {
      new MutationObserver(() => {
        const allow = [...document.querySelectorAll('button')].find((b) => b.textContent === 'Allow');
        if (!allow) return;
        if (window.allowCame === undefined) {
          window.allowCame = performance.now();
          window.allowWasInert = allow.ariaDisabled === 'true';
          allow.click();
        } else if (allow.ariaDisabled !== 'true') window.allowReady ??= performance.now();
      }).observe(document, { subtree: true, childList: true, attributes: true });
    });
    let answers = 0;
    page.on('request', (r) => (answers += r.method() === 'POST' && r.url().endsWith('/oauth/consent') ? 1 : 0));

    await page.goto(client.address);
    await page.getByRole('heading', { name: 'Sign in', exact: true }).waitFor();
    assert.equal(new URL(page.url()).pathname, '/sign-in');
    await v.look('sign-in');
    await signInWithMicrosoft(page, viewer);
    await page.getByRole('heading', { name: 'Allow access?' }).waitFor();
    const allow = page.getByRole('button', { name: 'Allow' });
    await page.waitForFunction(() => window.allowReady !== undefined);
    const { came, inert, ready } = await page.evaluate(() => ({
      came: window.allowCame,
      inert: window.allowWasInert,
      ready: window.allowReady,
    }));
    assert.ok(inert, 'Allow could be pressed at once');
    assert.ok(ready - came >= 490, `Allow was inert for ${ready - came} ms`);
    assert.equal(answers, 0, 'a press on the inert Allow was sent');

    const text = await page.getByRole('main').innerText();
    for (const part of [viewer, 'Nothing vouches for the name.', new URL(client.origin).host.split(':')[0], client.id]) {
      assert.ok(text.includes(part), `the consent screen lacks ${part}: ${text}`);
    }
    assert.match(text, /goes to a program on this computer/);
    assert.match(text, /Registered itself/);
    assert.equal(await page.locator('bdi', { hasText: 'Ledger Lens' }).count(), 1);
    assert.equal(text.split('Ledger Lens').length, 2, 'the claimed name stands once, in its bdi');
    for (const title of ['It will be able to', 'It will not be able to']) {
      const list = page.locator('section', { has: page.getByRole('heading', { name: title }) }).getByRole('listitem');
      assert.ok((await list.count()) > 0, `nothing under ${title}`);
    }
    const [one, other] = await Promise.all(
      [allow, page.getByRole('button', { name: 'Deny' })].map((b) =>
        b.evaluate((e) => {
          const { width, height } = e.getBoundingClientRect();
          const { backgroundColor, color, fontSize, fontWeight } = getComputedStyle(e);
          return { width, height, backgroundColor, color, fontSize, fontWeight };
        }),
      ),
    );
    assert.deepEqual(one, other, 'Deny is as easy as Allow');
    await v.look('consent');

    await allow.click();
    const answer = await client.answer;
    // OAUTH-08
    assert.equal(answer.get('iss'), client.issuer);
    assert.equal(answer.get('state'), client.state);
    assert.equal(answer.get('error'), null);
    const token = await client.exchange(answer.get('code'));
    assert.equal(token.token_type?.toLowerCase(), 'bearer', JSON.stringify(token));
    client.close();
    return v.close();
  },

  // UI-13, UI-04, OAUTH-08: and by the keyboard alone.
  'a client is denied': async () => {
    const client = await newClient('مساعد التقارير المالية for the quarterly figures of Ledger Lens International');
    const v = await visit({ elsewhere: [sample, client.origin] });
    const { page } = v;
    await page.goto(client.address);
    await v.tabTo(page.getByRole('link', { name: 'Sign in with Microsoft' }));
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: viewer }).click();
    await page.getByRole('button', { name: 'Allow' }).waitFor();
    await v.look('consent-long-name');
    await v.tabTo(page.getByRole('button', { name: 'Deny' }));
    await page.keyboard.press('Enter');
    const answer = await client.answer;
    assert.equal(answer.get('error'), 'access_denied');
    assert.equal(answer.get('iss'), client.issuer);
    assert.equal(answer.get('state'), client.state);
    assert.equal(answer.get('code'), null);
    client.close();
    return v.close();
  },

  // OAUTH-58, OAUTH-59, OAUTH-64, UI-04
  'the command line is let in': async () => {
    const post = async (path, fields) =>
      (await fetch(origin + path, { method: 'POST', body: new URLSearchParams(fields) })).json();
    const started = await post('/api/auth/oauth2/device_authorization', {
      client_id: 'pbmb-cli',
      scope: 'api offline_access',
      resource: `${origin}/api/v1`,
    });
    assert.equal(started.verification_uri, `${origin}/device`, JSON.stringify(started));
    assert.equal(started.verification_uri_complete, undefined);

    const v = await visit();
    const { page } = v;
    const screen = `/device?user_code=${started.user_code}`;
    v.provoke('401 /api/v1/me');
    await page.goto(screen);
    await page.getByRole('heading', { name: 'Sign in', exact: true }).waitFor();
    await page.getByLabel('Email').fill(viewer);
    await page.getByRole('button', { name: 'Sign in with this email' }).click();
    const code = page.getByLabel(/^Code/);
    await code.waitFor();
    assert.equal(await code.inputValue(), '', 'the code came along in the address');
    await v.look('device');

    await code.fill('BCDF-GHJK');
    v.provoke('404 /api/v1/oauth/device');
    await page.getByRole('button', { name: 'Look it up' }).click();
    await page.getByText('This code cannot be answered').waitFor();
    await v.look('device-refused');
    await code.fill(started.user_code.toLowerCase());
    await page.keyboard.press('Enter');
    await page.getByText('Nothing vouches for this program').waitFor();
    const text = await page.getByRole('main').innerText();
    for (const part of [viewer, '127.0.0.1', started.user_code]) assert.ok(text.includes(part), `the screen lacks ${part}: ${text}`);
    await v.look('device-question');
    await v.tabTo(page.getByRole('button', { name: 'Allow' }));
    await page.keyboard.press('Enter');
    await page.getByText('Allowed. Go back to your terminal.').waitFor();
    await v.look('device-allowed');

    const tokens = await post('/api/auth/oauth2/token', {
      grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
      client_id: 'pbmb-cli',
      device_code: started.device_code,
    });
    const me = await (await fetch(`${origin}/api/v1/me`, { headers: { authorization: `Bearer ${tokens.access_token}` } })).json();
    assert.equal(me.email, viewer, JSON.stringify([tokens, me]));
    assert.equal(me.via, 'cli');

    // OAUTH-15, OAUTH-16: what was allowed is ended where it is listed.
    await page.goto('/me');
    const grants = page.getByRole('region', { name: 'Clients that act for you' });
    const row = grants.getByRole('listitem').filter({ hasText: 'The pbmb command line' }).first();
    await row.waitFor();
    await v.look('me-grants');
    await row.getByRole('button', { name: 'End' }).first().click();
    await v.look('me-grant-end');
    await row.getByRole('button', { name: 'End it' }).click();
    await grants.getByText('It has ended').waitFor();
    const after = await fetch(`${origin}/api/v1/me`, { headers: { authorization: `Bearer ${tokens.access_token}` } });
    assert.equal(after.status, 401);
    return v.close();
  },

  // UI-02, UI-03, UI-04, UI-05
  'a viewer looks around and asks': async () => {
    const v = await visit();
    const { page } = v;
    await v.signIn(viewer);
    await page.getByRole('link', { name: 'Sales', exact: true }).waitFor();
    assert.equal(await page.getByRole('link', { name: 'Audit' }).count(), 0, 'a viewer is led to the audit');
    await v.look('home');

    // UI-09, as far as it is built.
    await page.keyboard.press('/');
    await page.keyboard.type('net sales');
    const measures = page.locator('section', { has: page.getByRole('heading', { name: /^Measures/ }) });
    const hit = measures.getByRole('listitem').filter({ hasText: /dataset Sales\s·/ }).getByRole('link', { name: 'Net sales', exact: true });
    await hit.waitFor();
    await v.look('search');
    await hit.click();

    await page.getByRole('heading', { name: 'Sales', exact: true }).waitFor();
    await page.getByRole('searchbox', { name: 'Find a measure or column' }).waitFor();
    // What was searched for stands open, in sight.
    const dax = page.getByLabel('DAX of Net sales', { exact: true });
    await dax.waitFor();
    assert.match(await dax.innerText(), /SUM/i);
    assert.ok(await dax.evaluate((e) => e.getBoundingClientRect().top < innerHeight), 'one has to look for the measure');
    assert.equal(await page.getByRole('link', { name: /^Mark as personal data/ }).count(), 0, 'a viewer is offered to mark');
    await v.look('dataset-find');

    await page.getByRole('searchbox', { name: 'Find a measure or column' }).fill('');
    await page.getByRole('heading', { name: /^Tables/ }).waitFor();
    await page.locator('summary', { hasText: /^Customer \d+ columns/ }).click();
    await page.getByText('Region', { exact: false }).first().waitFor();
    await v.look('dataset');

    await page.getByLabel('Query', { exact: true }).fill('EVALUATE SUMMARIZECOLUMNS ( Customer[Region], "Net sales", [Net sales] ) ORDER BY Customer[Region]');
    await page.keyboard.press('Control+Enter');
    const rows = page.getByRole('region', { name: 'Rows' }).locator('tbody tr');
    await rows.first().waitFor();
    assert.ok((await rows.count()) >= 3, 'too few rows');
    await page.getByText(/rows? as viewer@sample\.example, row-level security: not defined/).waitFor();
    await v.look('dataset-rows');

    await page.getByRole('link', { name: 'You', exact: true }).click();
    await page.getByRole('heading', { name: 'You', exact: true }).waitFor();
    await page.getByText('Your queries run as').waitFor();
    await v.look('me');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.waitForURL('/sign-in');
    return v.close();
  },

  // SIGNIN-01, SIGNIN-28, SIGNIN-29, SIGNIN-36, UI-02, UI-04
  'a viewer adds a passkey and signs in with it': async () => {
    const v = await visit();
    const { page } = v;
    const alert = page.getByRole('alert');
    const device = await newAuthenticator(page);
    await v.signIn(viewer, '/me');
    const own = page.getByRole('region', { name: 'Passkeys' });
    await own.getByText('You have no passkey yet.').waitFor();
    const name = page.getByLabel(/^Name of the new passkey/);
    const add = page.getByRole('button', { name: 'Add a passkey' });

    await name.fill('Work laptop');
    await device.unlock(false);
    await add.click();
    await alert.getByText('No passkey was made.').waitFor();
    await device.unlock(true);
    await device.deny({ isBadUV: true });
    v.provoke('403 /api/auth/passkeys');
    await add.click();
    await alert.getByText('did not prove that you unlocked it').waitFor();
    assert.equal(await own.getByRole('listitem').count(), 0);
    await v.look('me-passkey-refused');
    await device.deny({});
    await device.forget();

    await page.goto('/me');
    await v.tabTo(name);
    await page.keyboard.type('Work laptop');
    await page.keyboard.press('Enter');
    await own.getByText('“Work laptop” is added.').waitFor();
    await own.getByRole('listitem').getByText('not used yet').waitFor();
    await v.look('me-passkeys');
    await name.fill('The same again');
    await add.click();
    await alert.getByText('has a passkey of yours already').waitFor();
    const [made] = await device.credentials();
    assert.equal((await device.credentials()).length, 1);
    assert.equal(made.isResidentCredential, true);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.waitForURL('/sign-in');

    await page.goto('/sign-in?next=%2Fme');
    const signIn = page.getByRole('button', { name: 'Sign in with a passkey' });
    await signIn.waitFor();
    await v.look('sign-in-passkey');
    await device.unlock(false);
    await signIn.click();
    await alert.getByText('No passkey was used.').waitFor();
    await device.unlock(true);
    for (const bits of [{ isBadUV: true }, { isBadUP: true }, { isBogusSignature: true }]) {
      await device.deny(bits);
      v.provoke('403 /api/auth/sign-in/passkey');
      await signIn.click();
      await alert.getByText('did not prove that you unlocked it').waitFor();
      await device.deny({});
    }
    await v.look('sign-in-passkey-refused');
    assert.equal(new URL(page.url()).pathname, '/sign-in');

    await page.goto('/sign-in?next=%2Fme');
    await v.tabTo(signIn);
    await page.keyboard.press('Enter');
    await page.waitForURL('/me');
    await own.getByRole('listitem').getByText('last used').waitFor();
    const session = await page.evaluate(async () => (await fetch('/api/auth/session')).json());
    assert.equal(session.provider, 'passkey');
    assert.equal(session.email, viewer);

    // A copy that was made when the passkey was new.
    const [used] = await device.credentials();
    assert.ok(used.signCount > made.signCount);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.waitForURL('/sign-in');
    await device.replace({ ...used, signCount: made.signCount - 1 });
    v.provoke('403 /api/auth/sign-in/passkey');
    await signIn.click();
    await alert.getByText('may have been copied').waitFor();
    await device.replace(used);
    await signIn.click();
    await page.waitForURL('/');

    await page.goto('/me');
    await page.getByRole('button', { name: 'Remove Work laptop' }).click();
    const dialog = page.getByRole('dialog', { name: 'Remove the passkey Work laptop' });
    await dialog.waitFor();
    await v.look('me-passkey-remove');
    await dialog.getByRole('button', { name: 'Remove the passkey' }).click();
    await own.getByText('“Work laptop” is removed.').waitFor();
    await own.getByText('You have no passkey yet.').waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.waitForURL('/sign-in');
    v.provoke('403 /api/auth/sign-in/passkey');
    await signIn.click();
    await alert.getByText('not known here').waitFor();
    return v.close();
  },

  // PII-44, PII-45 (a column's control), UI-06
  'an admin marks personal data and a viewer is refused it': async () => {
    const a = await visit({}, { permissions: ['clipboard-read', 'clipboard-write'] });
    await a.signIn(admin, '/admin/pii');
    await a.page.getByText('Nothing is marked yet.').waitFor();
    await a.page.getByText('Its name says that it is an email address.').first().waitFor();
    await a.look('pii-empty');
    await a.page.goto('/');
    await a.page.getByRole('link', { name: 'Sales', exact: true }).click();
    await a.page.locator('summary', { hasText: /^Customer \d+ columns/ }).click();
    await a.page.getByRole('link', { name: 'Mark as personal data: Customer[Customer]' }).waitFor();
    await a.look('dataset-admin');
    await a.page.getByRole('link', { name: 'Mark as personal data: Customer[Customer]' }).click();
    assert.equal(await a.page.getByLabel(/^Name/).inputValue(), 'Customer[Customer]');
    await a.page.getByLabel(/^Note/).fill('Customer names are personal data');
    await a.page.getByRole('button', { name: 'Mark as personal data' }).click();
    await a.page.getByText(/Customer\[Customer\] is now marked as personal data/).waitFor();
    await a.page.getByLabel(/^Name/).fill('Customer[Region]');
    await a.page.getByRole('button', { name: 'Clear: not personal' }).click();
    await a.page.getByText(/Customer\[Region\] is now cleared/).waitFor();
    // PII-47, PII-53: a suggestion is decided on, and the decision undone.
    await a.page.getByRole('button', { name: 'Mark Customer[Phone]' }).click();
    await a.page.getByRole('button', { name: 'Mark Customer[Phone]' }).waitFor({ state: 'detached' });
    await a.page.getByRole('button', { name: 'Remove Customer[Phone]' }).click();
    await a.page.getByRole('dialog').getByRole('button', { name: 'Remove the rule' }).click();
    await a.page.getByRole('button', { name: 'Remove Customer[Phone]' }).waitFor({ state: 'detached' });
    await a.page.getByLabel(/^Name/).fill('Customer[Email]');
    await a.page.getByRole('button', { name: 'Mark as personal data' }).click();
    await a.page.getByText(/Customer\[Email\] is now marked as personal data/).waitFor();
    await a.page.getByRole('button', { name: 'Undo' }).click();
    await a.page.getByRole('button', { name: 'Remove Customer[Email]' }).waitFor({ state: 'detached' });
    const rules = a.page.locator('section', { has: a.page.getByRole('heading', { name: /^Rules/ }) }).locator('.rows > li');
    await rules.nth(1).waitFor();
    assert.deepEqual((await rules.locator('.tag').allInnerTexts()).sort(), ['cleared', 'personal data']);
    await a.look('pii');

    const v = await visit({}, { permissions: ['clipboard-read', 'clipboard-write'] });
    await v.signIn(viewer);
    await v.page.getByRole('link', { name: 'Sales', exact: true }).click();
    await v.page.getByLabel('Query', { exact: true }).fill(refused);
    v.provoke('403 /api/v1/queries');
    await v.page.getByRole('button', { name: 'Run' }).click();
    const notice = v.page.getByRole('alert');
    await notice.waitFor();
    const told = await notice.innerText();
    for (const part of ['Customer[Customer]', 'table Customer', 'pii_reader', 'Request']) {
      assert.ok(told.includes(part), `the refusal lacks ${part}: ${told}`);
    }
    const requestID = await notice.locator('code').last().innerText();
    await notice.getByRole('button', { name: 'Copy the request id' }).click();
    await notice.getByRole('button', { name: 'Copy the request id' }).getByText('Copied').waitFor();
    assert.equal(await v.page.evaluate(() => navigator.clipboard.readText()), requestID);
    await v.page.locator('summary', { hasText: /^Customer \d+ columns/ }).click();
    await v.page.locator('.rows').getByText('1 item is hidden here because it is personal data.').waitFor();
    const names = await v.page.locator('.column > p').allInnerTexts();
    assert.ok(names.some((n) => n.startsWith('Region')) && !names.some((n) => /^Customer\b/.test(n)), `it has the columns ${names}`);
    await v.look('dataset-refused');
    await v.close();

    await a.page.getByRole('link', { name: 'Audit', exact: true }).click();
    await a.page.getByLabel('Outcome').selectOption('deny');
    const row = a.page.locator('.audit > li', { hasText: 'execute_dax' }).first();
    await row.waitFor();
    await row.getByText('More').click();
    assert.match(await row.innerText(), new RegExp(`pii_refused[^]*${viewer}[^]*${requestID}`));
    await a.look('audit');
    await a.page.goto('/admin/audit?action=nobody_does_this');
    await a.page.getByText('Nothing is recorded that matches.').waitFor();
    await a.look('audit-empty');

    await a.page.goto('/admin/pii');
    for (const name of ['Customer[Customer]', 'Customer[Region]']) {
      await a.page.getByRole('button', { name: `Remove ${name}`, exact: true }).click();
      await a.page.getByRole('dialog').getByRole('button', { name: 'Remove the rule' }).waitFor();
      if (name === 'Customer[Customer]') await a.look('pii-remove');
      await a.page.getByRole('dialog').getByRole('button', { name: 'Remove the rule' }).click();
      await a.page.getByRole('button', { name: `Remove ${name}`, exact: true }).waitFor({ state: 'detached' });
    }
    await a.page.getByText('Nothing is marked yet.').waitFor();
    return a.close();
  },

  // BOOK-03, BOOK-04
  'a curator describes a dataset and an admin switches it off and on': async () => {
    const c = await visit();
    await c.signIn('curator@sample.example');
    await c.page.getByRole('link', { name: 'Sales', exact: true }).click();
    await c.page.getByRole('button', { name: 'Describe Sales', exact: true }).click();
    const dialog = c.page.getByRole('dialog', { name: 'Describe Sales' });
    await dialog.getByLabel('What people here should know').fill('Without returns; ask Cleo.');
    await c.look('dataset-describe');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await c.page.getByText('Without returns; ask Cleo.').first().waitFor();
    await c.look('dataset-described');
    await c.close();

    const v = await visit();
    await v.signIn(viewer);
    await v.page.getByRole('link', { name: 'Sales', exact: true }).click();
    await v.page.getByText('Without returns; ask Cleo.').waitFor();
    await v.page.getByText('Order lines of all channels').waitFor();
    assert.equal(await v.page.getByRole('button', { name: 'Describe Sales' }).count(), 0);

    const a = await visit();
    await a.signIn(admin, '/admin/datasets');
    await a.page.getByText('Board pack', { exact: true }).waitFor();
    await a.page.getByLabel('Find a dataset by name').fill('sales');
    await a.page.getByText('Board pack', { exact: true }).waitFor({ state: 'detached' });
    await a.page.getByRole('button', { name: 'Switch Sales off', exact: true }).click();
    await a.look('datasets-switch');
    await a.page.getByRole('dialog').getByRole('button', { name: 'Switch it off' }).click();
    await a.page.getByText('Switched off by').waitFor();
    await a.look('datasets-off');
    v.provoke(`404 /api/v1${new URL(v.page.url()).pathname}`);
    await v.page.reload();
    await v.page.getByRole('alert').waitFor();
    await v.page.goto('/');
    await v.page.getByRole('link', { name: 'Loyalty', exact: true }).waitFor();
    assert.equal(await v.page.getByRole('link', { name: 'Sales', exact: true }).count(), 0);
    await a.page.getByRole('button', { name: 'Switch Sales on', exact: true }).click();
    await a.page.getByText('Switched on by').waitFor();
    await v.page.reload();
    await v.page.getByRole('link', { name: 'Sales', exact: true }).waitFor();
    await v.close();
    return a.close();
  },

  // UI-02, UI-06: every screen as somebody who may not, and as nothing comes back.
  'the screens of those who may not, and of failures': async () => {
    const o = await visit();
    await o.signIn(outsider);
    await o.page.getByText('No dataset is visible to you yet.').waitFor();
    await o.look('home-empty');
    await o.page.goto('/?q=net+sales');
    await o.page.getByText(/Nothing that you can see matches/).waitFor();
    await o.look('search-empty');
    o.provoke('404 /api/v1/datasets/Sales');
    await o.page.goto('/datasets/Sales');
    await o.page.getByRole('alert').waitFor();
    await o.look('dataset-missing');
    for (const [path, name] of [['/admin/datasets', 'datasets'], ['/admin/pii', 'pii/rules'], ['/admin/audit', 'audit']]) {
      o.provoke(`403 /api/v1/admin/${name}`);
      await o.page.goto(path);
      await o.page.getByText('You do not have permission to see this.').waitFor();
      await o.look(`${name.split('/')[0]}-no-permission`);
    }
    await o.page.goto('/sign-in?error=no_role');
    await o.page.getByRole('alert').waitFor();
    await o.look('sign-in-failed');

    o.provoke('503 /api/v1/datasets');
    await o.page.route('**/api/v1/datasets*', (route) =>
      route.fulfill({
        status: 503,
        contentType: 'application/problem+json',
        json: { kind: 'unavailable', detail: 'The database does not answer.', next: 'Try again in a minute.', request_id: 'ABCDEFGHIJKLMNOPQRSTUVWXYZ' },
      }),
    );
    await o.page.goto('/');
    await o.page.getByRole('button', { name: 'Try again' }).waitFor();
    await o.look('home-failed');
    await o.page.unroute('**/api/v1/datasets*');
    await o.page.getByRole('button', { name: 'Try again' }).click();
    await o.page.getByText('No dataset is visible to you yet.').waitFor();
    await o.close();

    const stranger = await visit();
    stranger.tolerate('401 /api/v1/me', '401 /api/v1/datasets');
    await stranger.page.goto('/');
    await stranger.page.getByRole('heading', { name: 'Sign in', exact: true }).waitFor();
    return stranger.close();
  },

  // UI-03
  'the band says that the data is invented, where it is': async () => {
    const v = await visit();
    const { page } = v;
    const band = page.getByText(/^Sample data/);
    await v.signIn(admin);
    for (const path of ['/', '/me', '/admin/datasets', '/admin/pii', '/admin/audit', '/sign-in', '/datasets/Sales']) {
      await page.goto(path);
      await page.getByRole('heading', { level: 1 }).waitFor();
      await band.waitFor();
    }
    await page.route('**/api/auth/config', async (route) => {
      const answer = await route.fetch();
      await route.fulfill({ response: answer, json: { ...(await answer.json()), sample_data: false } });
    });
    await page.goto('/sign-in');
    await page.getByLabel('Email').waitFor();
    assert.equal(await band.count(), 0);
    return v.close();
  },

  // UI-07
  'numbers and times follow the locale': async () => {
    const v = await visit({}, { locale: 'de-DE', timezoneId: 'Asia/Tokyo' });
    const { page } = v;
    await v.signIn(viewer);
    await page.getByRole('link', { name: 'Sales', exact: true }).click();
    await page.getByLabel('Query', { exact: true }).fill('EVALUATE ROW ( "n", 1234567.5 )');
    await page.getByRole('button', { name: 'Run' }).click();
    await page.getByRole('cell', { name: '1.234.567,5', exact: true }).waitFor();
    const title = await page.getByRole('complementary', { name: 'Facts' }).locator('time').first().getAttribute('title');
    assert.match(title, /GMT\+9/);
    return v.close();
  },
};

const outcomes = [];
for (const [name, travel] of Object.entries(journeys)) {
  const started = Date.now();
  const outcome = { name };
  try {
    await travel();
  } catch (e) {
    outcome.error = e.stack;
  }
  outcome.ms = Date.now() - started;
  for (const context of browser.contexts()) {
    // Left open by a journey that broke off: where did it stand?
    for (const page of context.pages()) outcome.error += `\nit stood at ${page.url()}:\n${await page.locator('body').innerText()}`;
    await context.close();
  }
  outcomes.push(outcome);
}
await browser.close();
console.log(JSON.stringify(outcomes));

// Reports of the sample tenant in a real Chromium, embedded by Microsoft's own
// library (powerbi-client), which takes addresses of Power BI's hosts only: this
// browser is told to find app.powerbi.com at the tenant. Reads a plan as JSON and
// prints what became of each step as JSON.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { join } from 'node:path';

import { axe, launch, wcag } from './chromium.mjs';

const plan = JSON.parse(readFileSync(0, 'utf8'));
const { ada, grace } = plan.people;
const library = readFileSync(createRequire(import.meta.url).resolve('powerbi-client'), 'utf8');

// The company's application: a page with the library, and one beside it that
// sends messages to frames that are not its own.
const host = createServer((request, response) => {
  const { pathname } = new URL(request.url, 'http://host');
  const files = {
    '/powerbi.js': ['text/javascript', library],
    '/': ['text/html', '<!doctype html><html lang="en"><title>Host</title><link rel="icon" href="data:,"><div id="report" style="height:1150px"></div><script src="/powerbi.js"></script>'],
    '/stranger': ['text/html', '<!doctype html><html lang="en"><title>Stranger</title><link rel="icon" href="data:,">'],
  };
  const [type, text] = files[pathname] ?? ['text/plain', ''];
  response.setHeader('content-type', `${type}; charset=utf-8`);
  response.end(text);
});
host.listen(0, '127.0.0.1');
await once(host, 'listening');
const { port } = host.address();

const prepared = await launch(plan.chromium, [`--host-resolver-rules=MAP app.powerbi.com ${plan.tls}, MAP elsewhere.example 127.0.0.1`]);
const open = [];

/** A page of the application, with what its frames complained of. */
async function newHost(origin = `http://127.0.0.1:${port}`, browser = prepared) {
  const context = await browser.newContext({ ignoreHTTPSErrors: true, viewport: { width: 1280, height: 1200 }, locale: 'en-GB', reducedMotion: 'reduce' });
  context.setDefaultTimeout(20_000);
  open.push(context);
  const page = await context.newPage();
  page.complaints = [];
  page.on('pageerror', (error) => page.complaints.push(error.stack));
  page.on('console', (message) => message.type() === 'error' && page.complaints.push(message.text()));
  await page.goto(origin);
  return page;
}

/**
 * Embeds a report by the library; its events are noted in the page. The library
 * leaves a load out that follows another within 100 ms, and says nothing of it.
 */
async function embed(page, { id, token, more = {} }) {
  await page.waitForFunction(() => !window.report?.lastLoadRequest || Date.now() - window.report.lastLoadRequest >= 100);
  await page.evaluate(
    ({ id, group, token, more }) => {
      const element = document.getElementById('report');
      window.events = [];
      window.report = window.powerbi.embed(element, {
        type: 'report',
        id,
        embedUrl: `https://app.powerbi.com/reportEmbed?reportId=${id}&groupId=${group}`,
        accessToken: token,
        tokenType: 1,
        ...more,
      });
      for (const name of ['loaded', 'rendered', 'error', 'pageChanged', 'dataSelected', 'filtersApplied', 'visualRendered']) {
        window.report.on(name, (event) => window.events.push({ name, detail: name === 'pageChanged' ? event.detail.newPage.displayName : event.detail }));
      }
    },
    { id, group: plan.group, token, more },
  );
}

const names = (page) => page.evaluate(() => window.events.map((e) => e.name));

/** Waits until an event has come once more than it had at the start of an action. */
async function after(page, name, action) {
  const count = () => page.evaluate((n) => window.events.filter((e) => e.name === n).length, name);
  const before = await count();
  const result = await action?.();
  await page.waitForFunction(([n, k]) => window.events.filter((e) => e.name === n).length > k, [name, before]);
  return result;
}

const last = (page, name) => page.evaluate((n) => window.events.findLast((e) => e.name === n)?.detail, name);

const inside = (page) => page.frames().find((f) => f.url().includes('/reportEmbed'));

/** The figure of a card, in full. */
async function figure(page, title = 'Net sales') {
  const card = inside(page).locator('section.card', { has: inside(page).getByRole('heading', { name: title, exact: true }) });
  await card.locator('.card-value').waitFor();
  const exact = card.locator('.exact');
  return (await exact.count()) > 0 ? exact.textContent() : card.locator('.large').textContent();
}

const target = { table: 'Region', column: 'Country' };
const only = (country) => ({ $schema: 'http://powerbi.com/product/schema#basic', target, filterType: 1, operator: 'In', values: [country] });
const regions = plan.reports.Regions;

/** A token for Regions that is made now. */
async function newToken(username) {
  const form = new URLSearchParams({ grant_type: 'client_credentials', client_id: plan.client, client_secret: plan.secret, scope: plan.scope });
  const { access_token } = await (await fetch(plan.plain + plan.entra, { method: 'POST', body: form })).json();
  const response = await fetch(plan.plain + plan.generate, {
    method: 'POST',
    headers: { authorization: `Bearer ${access_token}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      reports: [{ id: regions }],
      datasets: [{ id: plan.regional }],
      identities: [{ username, roles: ['By salesperson'], datasets: [plan.regional] }],
    }),
  });
  return (await response.json()).token;
}

async function embedded(person = ada, more) {
  const page = await newHost();
  await embed(page, { id: regions, token: person.token, more });
  await page.waitForFunction(() => window.events.some((e) => e.name === 'rendered' || e.name === 'error'));
  assert.ok((await names(page)).includes('rendered'), JSON.stringify(await last(page, 'error')));
  return page;
}

async function shoot(page, name) {
  if (!plan.shots) return;
  mkdirSync(plan.shots, { recursive: true });
  await page.screenshot({ path: join(plan.shots, `${name}.png`), fullPage: true });
}

async function accessible(frame, where) {
  await frame.evaluate(axe);
  const { violations } = await frame.evaluate((values) => window.axe.run(document, { runOnly: { type: 'tag', values }, resultTypes: ['violations'] }), wcag);
  assert.deepEqual(violations.map((v) => `${where}: ${v.id}: ${v.help}: ${v.nodes.map((n) => n.html).join(' ')}`), []);
}

const steps = {
  'the library loads a report and hears of it': async () => {
    const page = await embedded(ada, { settings: { visualRenderedEvents: true } });
    const heard = await names(page);
    for (const name of ['loaded', 'pageChanged', 'rendered']) assert.ok(heard.includes(name), `${name} among ${heard}`);
    assert.ok(heard.indexOf('loaded') < heard.indexOf('rendered'));
    assert.equal(heard.filter((n) => n === 'visualRendered').length, 9);
    const pages = await page.evaluate(async () => (await window.report.getPages()).map((p) => [p.displayName, p.isActive]));
    assert.deepEqual(pages, [['Regions', true], ['Details', false]]);
    const visuals = await page.evaluate(async () => (await (await window.report.getActivePage()).getVisuals()).map((v) => [v.title, v.type]));
    assert.deepEqual(visuals[2], ['Net sales', 'card']);
    assert.deepEqual(visuals[5], ['Net sales by quarter', 'lineChart']);
    assert.equal(await page.evaluate(() => window.report.isSaved()), true);
    assert.deepEqual(page.complaints, []);
  },

  'the figures are those of the identity': async () => {
    assert.notEqual(ada.expected, grace.expected);
    for (const person of [ada, grace]) {
      const page = await embedded(person);
      assert.equal(await figure(page), person.expected);
      const rows = inside(page).locator('section.matrix tfoot .sum');
      assert.equal(await rows.textContent(), person.expected);
    }
  },

  'a filter changes the figures': async () => {
    const page = await embedded(grace);
    await after(page, 'rendered', () => page.evaluate((f) => window.report.setFilters([f]), only('France')));
    assert.equal(await figure(page), grace.france);
    assert.deepEqual(await page.evaluate(() => window.report.getFilters()), [only('France')]);
    await after(page, 'rendered', () => page.evaluate(() => window.report.removeFilters()));
    assert.equal(await figure(page), grace.expected);
    const again = await embedded(grace, { filters: [only('France')] });
    assert.equal(await figure(again), grace.france);
    // A filter cannot show what the identity does not.
    await after(again, 'rendered', () => again.evaluate((f) => window.report.updateFilters(1, [f]), only('Norway')));
    assert.equal(await figure(again), '–');
  },

  'a page, its visuals and slicers': async () => {
    const page = await embedded(grace, { pageName: undefined });
    const slicer = await page.evaluate(async (f) => {
      const [first] = await window.report.getPages();
      window.slicer = (await first.getVisuals()).find((v) => v.title === 'Region');
      return window.slicer.getSlicerState();
    });
    assert.deepEqual(slicer, { filters: [], targets: [{ table: 'Region', column: 'Region' }] });
    const north = { ...only('North'), target: { table: 'Region', column: 'Region' } };
    await after(page, 'rendered', () => page.evaluate((f) => window.slicer.setSlicerState({ filters: [f] }), north));
    assert.notEqual(await figure(page), grace.expected);
    assert.equal(await inside(page).getByRole('button', { name: 'North', pressed: true }).count(), 1);
    await after(page, 'rendered', () => inside(page).getByRole('group', { name: 'Region' }).getByRole('button', { name: 'North' }).click());
    assert.equal(await figure(page), grace.expected);

    const bar = inside(page).locator('section.bar').first();
    await after(page, 'rendered', () => after(page, 'dataSelected', () => bar.getByRole('button', { name: 'South' }).click()));
    const selected = await last(page, 'dataSelected');
    assert.deepEqual(selected.dataPoints[0].identity, [{ target: { table: 'Region', column: 'Region' }, equals: 'South' }]);

    await after(page, 'rendered', () => page.evaluate(async () => (await window.report.getPages())[1].setActive()));
    assert.equal(await last(page, 'pageChanged'), 'Details');
    await inside(page).getByRole('heading', { name: 'Subcategories' }).waitFor();
    const csv = await page.evaluate(async () => (await (await window.report.getActivePage()).getVisuals())[0].exportData(0));
    assert.match(csv.data, /^Region,Category,Subcategory,Net sales,Units,Average line\r\nNorth,/);
    await page.evaluate(() => window.report.updateSettings({ panes: { pageNavigation: { visible: false } } }));
    await inside(page).getByRole('navigation').waitFor({ state: 'detached' });
    const refused = await page.evaluate(() => window.report.switchMode('edit').catch((e) => e));
    assert.equal(refused.message, 'notSupported');
    const unknown = await page.evaluate(() => window.report.setPage('nowhere').catch((e) => e));
    assert.equal(unknown.message, 'notFound');
  },

  'in two phases': async () => {
    const page = await newHost();
    await page.evaluate(
      ({ id, group, token }) => {
        window.events = [];
        window.report = window.powerbi.load(document.getElementById('report'), {
          type: 'report', id, embedUrl: `https://app.powerbi.com/reportEmbed?reportId=${id}&groupId=${group}`, accessToken: token, tokenType: 1,
        });
        for (const name of ['loaded', 'rendered', 'error']) window.report.on(name, (event) => window.events.push({ name, detail: event.detail }));
      },
      { id: regions, group: plan.group, token: ada.token },
    );
    await page.waitForFunction(() => window.events.some((e) => e.name === 'loaded'));
    assert.equal(await inside(page).locator('section').count(), 0);
    await after(page, 'rendered', () => page.evaluate(() => window.report.render()));
    assert.equal(await figure(page), ada.expected);
  },

  'a token opens no other report': async () => {
    const page = await newHost();
    await embed(page, { id: plan.reports['Sales overview'], token: ada.token });
    await page.waitForFunction(() => window.events.some((e) => e.name === 'error'));
    assert.equal((await last(page, 'error')).message, 'PowerBINotAuthorizedException');
    assert.ok(!(await names(page)).includes('loaded'));
    await inside(page).getByRole('alert').waitFor();
    await embed(page, { id: regions, token: plan.overview });
    await page.waitForFunction(() => window.events.some((e) => e.name === 'error'));
    assert.equal(await inside(page).locator('section').count(), 0);
  },

  'of two loads the last one counts': async () => {
    const page = await newHost();
    const overview = plan.reports['Sales overview'];
    const first = `**/reportEmbed/explore/${overview}`;
    await page.route(first, () => {}); // it is never answered
    await Promise.all([page.waitForRequest(first), embed(page, { id: overview, token: plan.overview })]);
    const givenUp = page.waitForEvent('requestfailed', (request) => request.url().endsWith(overview));
    await Promise.all([givenUp, embed(page, { id: regions, token: ada.token })]);
    await page.waitForFunction(() => window.events.some((e) => e.name === 'rendered'));
    assert.equal(await figure(page), ada.expected);
    assert.ok(!(await names(page)).includes('error'));
  },

  'only the embedding page is listened to': async () => {
    const page = await embedded(grace);
    // Frames beside it: one of the embedding page's own origin, one of another that
    // may embed as well.
    for (const origin of [`http://127.0.0.1:${port}`, `http://localhost:${port}`]) {
      const element = await page.evaluateHandle(async (address) => {
        const frame = document.createElement('iframe');
        frame.src = address;
        const loaded = new Promise((done) => frame.addEventListener('load', done));
        document.body.append(frame);
        await loaded;
        return frame;
      }, `${origin}/stranger`);
      const stranger = await element.contentFrame();
      const answered = await stranger.evaluate(async (filter) => {
        const heard = [];
        window.addEventListener('message', (event) => heard.push(event.data));
        const send = (method, url, body) => window.parent.frames[0].postMessage({ method, url, headers: { id: 'x' }, body }, '*');
        send('GET', '/report/pages');
        send('PUT', '/report/filters', [filter]);
        await new Promise((done) => setTimeout(done, 1000));
        return heard;
      }, only('France'));
      assert.deepEqual(answered, [], origin);
      assert.deepEqual(await page.evaluate(() => window.report.getFilters()), [], origin);
      assert.equal(await figure(page), grace.expected);
    }
  },

  'a page of another origin cannot embed': async () => {
    const origin = `http://elsewhere.example:${port}`;
    const fenced = await newHost(origin);
    await Promise.all([
      fenced.waitForEvent('console', (message) => message.text().includes('frame-ancestors')),
      embed(fenced, { id: regions, token: ada.token }),
    ]);
    await assert.rejects(fenced.waitForFunction(() => window.events.length > 0, undefined, { timeout: 1000 }));
    // And where a browser does not keep to the policy, the page itself does.
    const open = await newHost(origin);
    await open.route('**/reportEmbed?**', async (route) => {
      const response = await route.fetch({ url: route.request().url().replace('https://app.powerbi.com', plan.plain) });
      const headers = response.headers();
      delete headers['content-security-policy'];
      await route.fulfill({ response, headers });
    });
    await embed(open, { id: regions, token: ada.token });
    await open.waitForFunction(() => window.report.lastLoadRequest); // the page is there, and was asked
    await assert.rejects(open.waitForFunction(() => window.events.length > 0, undefined, { timeout: 1000 }));
    assert.ok(inside(open), 'the page is not there to refuse');
    assert.equal(await inside(open).locator('section').count(), 0);
  },

  'everybody can read the page': async () => {
    const page = await embedded(grace);
    const frame = inside(page);
    await after(page, 'rendered', () => frame.getByRole('button', { name: '2026' }).click());
    for (const width of [1280, 390]) {
      await page.setViewportSize({ width, height: 1200 });
      await accessible(frame, `Regions, ${width} px`);
      const wider = await frame.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      assert.equal(wider, 0, `it scrolls ${wider} px sideways at ${width} px`);
      await shoot(page, `report-regions-${width}`);
    }
    const other = await newHost();
    await embed(other, { id: plan.reports['Sales overview'], token: plan.overview });
    await other.waitForFunction(() => window.events.some((e) => e.name === 'rendered'));
    await accessible(inside(other), 'Sales overview');
    await shoot(other, 'report-sales-overview');
  },

  'a browser that nobody prepared shows reports to people': async () => {
    const plain = await launch(plan.chromium);
    try {
      const page = await newHost(`${plan.plain}/home`, plain);
      await accessible(page, 'whose reports');
      await page.getByRole('link', { name: 'Ada Ferrant' }).click();
      await accessible(page, 'the reports of ada');
      await shoot(page, 'portal-home');
      await page.getByRole('link', { name: 'Regions' }).click();
      await page.frameLocator('iframe').locator('.card-value').first().waitFor();
      assert.equal(await figure(page), ada.expected);
      await accessible(page, 'a report in the portal');
      await shoot(page, 'portal-report');
      await page.getByLabel('Rows of').selectOption({ label: 'Grace Tolland, Regional manager' });
      await page.waitForURL(/grace/);
      await page.frameLocator('iframe').locator('.card-value').first().waitFor();
      assert.equal(await figure(page), grace.expected);
      await page.getByLabel('Rows of').selectOption({ label: 'Mira Falk, Head of data' }); // who sees every region
      await page.waitForURL(/admin/);
      await page.setViewportSize({ width: 390, height: 844 });
      await page.frameLocator('iframe').locator('.curve').first().waitFor();
      for (const [where, part] of [['the portal', page], ['the report', inside(page)]]) {
        const wider = await part.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
        assert.equal(wider, 0, `${where} scrolls ${wider} px sideways on a phone`);
      }
      await shoot(page, 'portal-report-390');
      assert.deepEqual(page.complaints.filter((c) => !c.includes('favicon') && !c.includes('404')), []);
    } finally {
      await plain.close();
    }
  },

  // The last step, since everything that was made before it is expired then.
  'an expired token is told, and a new one helps': async () => {
    const page = await embedded(ada);
    await fetch(`${plan.plain}/later`, { method: 'POST' });
    await after(page, 'error', () => page.evaluate(() => window.report.refresh()));
    const { message, errorCode, level } = await last(page, 'error');
    assert.deepEqual({ message, errorCode, level }, { message: 'TokenExpired', errorCode: '403', level: 6 });
    assert.equal(await inside(page).locator('section').count(), 0, 'the rows are still there');
    await after(page, 'rendered', async () => page.evaluate((token) => window.report.setAccessToken(token), await newToken('grace@sample.example')));
    assert.equal(await figure(page), grace.expected);
    const late = await newHost();
    await embed(late, { id: regions, token: ada.token });
    await late.waitForFunction(() => window.events.some((e) => e.name === 'error'));
    assert.equal((await last(late, 'error')).message, 'TokenExpired');
  },
};

const results = [];
for (const [name, step] of Object.entries(steps)) {
  const start = Date.now();
  let error = '';
  try {
    await step();
  } catch (problem) {
    error = problem.stack;
  }
  for (const context of open.splice(0)) await context.close();
  results.push({ name, error, ms: Date.now() - start });
}
await prepared.close();
host.close();
console.log(JSON.stringify(results));

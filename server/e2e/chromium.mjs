// A real Chromium, and what is held against every screen that it shows.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

import { chromium } from 'playwright-core';

import { ownAddress } from './address.mjs';

/** axe, as a script for a page. */
export const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
export const wcag = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];

const schemes = ['light', 'dark'];
const wide = { width: 1280, height: 800 };
const narrow = { width: 360, height: 740 };

export function launch(executablePath, more = []) {
  return chromium.launch({
    executablePath,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      ...more,
    ],
  });
}

/** A person at a browser of their own, whose every request and complaint is noted. */
export class Visitor {
  /**
   * @param origin the deployment
   * @param elsewhere other origins that pages, and nothing but pages, may come from
   * @param shots a folder for a picture of each screen, or undefined
   */
  static async open(browser, { origin, elsewhere = [], shots }, options = {}) {
    const visitor = new Visitor();
    Object.assign(visitor, { origin, elsewhere, shots, complaints: [], failures: [], tolerated: [] });
    visitor.context = await browser.newContext({
      baseURL: origin,
      viewport: wide,
      locale: 'en-GB',
      extraHTTPHeaders: ownAddress(),
      ...options,
    });
    visitor.context.setDefaultTimeout(30_000);
    visitor.page = await visitor.context.newPage();
    visitor.#watch();
    return visitor;
  }

  #watch() {
    const { page, origin, elsewhere, complaints } = this;
    this.context.on('request', (request) => {
      const url = new URL(request.url());
      if (url.origin === origin || url.protocol === 'data:') return;
      if (request.isNavigationRequest() && elsewhere.includes(url.origin)) return;
      complaints.push(`a request left the origin: ${request.method()} ${request.url()}`);
    });
    page.on('pageerror', (error) => complaints.push(`an error in the page: ${error.stack}`));
    page.on('console', (message) => {
      if (message.type() !== 'error' && message.type() !== 'warning') return;
      const url = message.location().url;
      // What the browser says of an answer that the journey provokes.
      const status = /responded with a status of (\d+)/.exec(message.text())?.[1];
      const failure = `${status} ${URL.canParse(url) ? new URL(url).pathname : ''}`;
      const at = this.failures.indexOf(failure);
      if (at >= 0) this.failures.splice(at, 1);
      else if (!this.tolerated.includes(failure)) complaints.push(`the console at ${page.url()}: ${message.text()} (${url})`);
    });
  }

  /** Announces answers that the browser will complain of, as "403 /api/v1/queries". */
  provoke(...failures) {
    this.failures.push(...failures);
  }

  /** Announces answers that may come or not, since something else is quicker. */
  tolerate(...failures) {
    this.tolerated.push(...failures);
  }

  /** Signs in by the development form of the sign-in screen. */
  async signIn(email, next = '/') {
    const { page } = this;
    await page.goto(`/sign-in?next=${encodeURIComponent(next)}`);
    await page.getByLabel('Email').fill(email);
    await page.getByRole('button', { name: 'Sign in with this email' }).click();
    await page.waitForURL(next);
  }

  /** Holds the screen as it stands against UI-04, in both themes and both widths. */
  async look(name) {
    const { page } = this;
    const found = [];
    for (const viewport of [wide, narrow]) {
      await page.setViewportSize(viewport);
      for (const colorScheme of schemes) {
        await page.emulateMedia({ colorScheme });
        const where = `${name}, ${colorScheme}, ${viewport.width} px`;
        const wider = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
        if (wider > 0) found.push(`${where}: scrolls ${wider} px sideways`);
        for (const violation of await this.#axe()) found.push(`${where}: ${violation}`);
        await this.#shoot(`${name}-${viewport.width}-${colorScheme}`);
      }
    }
    await page.setViewportSize(wide);
    await page.emulateMedia({ colorScheme: 'light' });
    assert.deepEqual(found, []);
  }

  async #axe() {
    const { page } = this;
    if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe);
    const { violations } = await page.evaluate(
      (values) => window.axe.run(document, { runOnly: { type: 'tag', values }, resultTypes: ['violations'] }),
      wcag,
    );
    return violations.map((v) => `${v.id}: ${v.help}: ${v.nodes.map((n) => n.html).join(' ')}`);
  }

  async #shoot(name) {
    if (!this.shots) return;
    mkdirSync(this.shots, { recursive: true });
    await this.page.screenshot({ path: join(this.shots, `${name}.png`), fullPage: true });
  }

  /**
   * Presses Tab until the element that matches has the focus, which must be seen on
   * it, and waits until it can be pressed: what asks for consent cannot for a while
   * whenever the focus comes back from the browser's own frame.
   */
  async tabTo(locator) {
    const { page } = this;
    await locator.waitFor();
    for (let presses = 0; presses < 60; presses++) {
      await page.keyboard.press('Tab');
      const seen = await page.evaluate(() => {
        for (let at = document.activeElement; at && at !== document.body; at = at.parentElement) {
          const { outlineStyle, outlineWidth } = getComputedStyle(at);
          if (outlineStyle !== 'none' && parseFloat(outlineWidth) >= 2) return true;
        }
        return document.activeElement === document.body; // the browser's own frame
      });
      assert.ok(seen, `the focus is invisible on ${await page.evaluate(() => document.activeElement?.outerHTML)}`);
      if (await locator.evaluate((element) => element === document.activeElement)) {
        return (await locator.elementHandle()).waitForElementState('enabled');
      }
    }
    assert.fail(`Tab does not reach ${locator}`);
  }

  /** Closes the browser's window; what it complained of fails the journey. */
  async close() {
    await this.context.close();
    assert.deepEqual(this.complaints, []);
    assert.deepEqual(this.failures, [], 'announced and did not happen');
  }
}

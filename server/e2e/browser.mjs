// A person's browser, as far as letting a client in goes: it signs in, looks at
// the consent screen's data and presses Allow or Deny. Only the pictures are missing.
import { ownAddress } from './address.mjs';

/** The session cookie out of an answer's Set-Cookie headers. */
function cookiesOf(response) {
  return response.headers.getSetCookie().map((c) => c.split(';')[0]);
}

export class Browser {
  constructor(origin) {
    this.origin = origin;
    this.cookies = new Map();
    this.address = ownAddress();
  }

  async fetch(url, options = {}) {
    const target = new URL(url, this.origin);
    const headers = { ...options.headers };
    if (target.origin === this.origin) {
      Object.assign(headers, this.address);
      if (this.cookies.size > 0) headers.cookie = [...this.cookies].map(([k, v]) => `${k}=${v}`).join('; ');
      if (options.method && options.method !== 'GET') headers.origin = this.origin;
    }
    const response = await fetch(target, { ...options, headers, redirect: 'manual' });
    if (target.origin === this.origin) {
      for (const c of cookiesOf(response)) {
        const at = c.indexOf('=');
        this.cookies.set(c.slice(0, at), c.slice(at + 1));
      }
    }
    return response;
  }

  async json(method, path, body) {
    const response = await this.fetch(path, {
      method,
      headers: body === undefined ? {} : { 'content-type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: text ? JSON.parse(text) : undefined };
  }

  /** Signs in by the dev sign-in. */
  async devSignIn(email) {
    const answer = await this.json('POST', '/api/auth/dev-sign-in', { email });
    if (answer.status !== 200) throw new Error(`dev sign-in answered ${answer.status}: ${JSON.stringify(answer.body)}`);
  }

  /** Signs in through the sample tenant's Entra page, choosing a person on it. */
  async microsoftSignIn(email, next = '/') {
    const start = await this.fetch(`/api/auth/sign-in/microsoft?next=${encodeURIComponent(next)}`);
    const chosen = await fetch(start.headers.get('location'), {
      method: 'POST',
      redirect: 'manual',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ person: email }),
    });
    const back = await this.fetch(chosen.headers.get('location'));
    return back.headers.get('location');
  }

  /**
   * Opens an authorization address and answers the consent.
   * Returns where the browser is sent in the end, and what was seen on the way.
   */
  async authorize(address, allow = true) {
    const seen = [];
    let response = await this.fetch(address);
    if (!response.headers.get('location')) throw new Error(`authorize answered ${response.status}: ${await response.text()}`);
    let location = new URL(response.headers.get('location'), this.origin);
    seen.push(location.pathname);
    if (location.pathname === '/sign-in') throw new Error('not signed in');
    if (location.pathname !== '/consent') return { location, seen };
    const query = location.search.slice(1);
    const screen = await this.json('GET', `/api/v1/oauth/consent?${query}`);
    const answer = await this.json('POST', '/api/v1/oauth/consent', { query, allow });
    if (answer.status !== 200) throw new Error(`consent answered ${answer.status}: ${JSON.stringify(answer.body)}`);
    return { location: new URL(answer.body.redirect_to), seen, screen: screen.body };
  }
}

// The protocol of Microsoft's JavaScript library: requests and answers like those
// of HTTP, carried by window.postMessage between the page that embeds a report and
// this frame. Only the embedding page is listened to, and only it is answered.

/** What goes wrong with a request: a status, and the body that the library throws. */
export class Refused extends Error {
  constructor(status, message, detailedMessage) {
    super(message);
    this.status = status;
    this.body = { message, detailedMessage, errorCode: String(status), level: 3 };
  }
}

export const notSupported = (what) => new Refused(501, 'notSupported', `The sample tenant's report page does not support ${what}.`);
export const notFound = (what) => new Refused(404, 'notFound', `There is no ${what}.`);

/**
 * Whether an origin may embed. The patterns are those of the page's frame-ancestors:
 * 'self', an origin, or an origin with :* for any port.
 */
export function mayEmbed(origin, patterns, own) {
  return patterns.some((pattern) => {
    if (pattern === '*') return true;
    if (pattern === "'self'") return origin === own;
    if (!pattern.endsWith(':*')) return origin === pattern;
    const base = pattern.slice(0, -2);
    return origin === base || (origin.startsWith(`${base}:`) && /^\d+$/.test(origin.slice(base.length + 1)));
  });
}

/** A random id. crypto.randomUUID is there for pages by TLS only, down from the top one. */
export const newID = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');

/** The line to the embedding page. */
export class Line {
  #parent = window.parent;
  #origin; // of the embedding page, known from its first message on
  #uid = new URLSearchParams(location.search).get('uid') ?? '';
  #routes = [];
  #patterns;

  constructor(patterns) {
    this.#patterns = patterns;
  }

  /** Serves requests such as GET /report/pages/:page/visuals by a handler. */
  on(method, path, handler) {
    const names = [];
    const source = path.replace(/:(\w+)/g, (_, name) => {
      names.push(name);
      return '([^/]+)';
    });
    this.#routes.push({ method, pattern: new RegExp(`^${source}$`), names, handler });
  }

  /** Starts listening, and says that the frame is ready for the configuration. */
  open() {
    if (this.#parent === window) return; // not embedded
    window.addEventListener('message', (event) => void this.#receive(event));
    // It says nothing but the id that the address of this frame carries, so it may
    // go to whoever embeds it: the browser lets only the allowed ones.
    this.#post('*', { method: 'POST', url: `/ready/${this.#uid}`, headers: { id: newID() }, body: {} });
  }

  /** Tells the embedding page of an event. */
  tell(name, body = {}) {
    if (this.#origin === undefined) return;
    const url = `/reports/${this.#uid}/events/${name}`;
    this.#post(this.#origin, { method: 'POST', url, headers: { id: newID() }, body });
  }

  #post(origin, message) {
    this.#parent.postMessage(message, origin);
  }

  /** Whether a message comes from the page that embeds this frame, and may. */
  #fromHost(event) {
    if (event.source !== this.#parent) return false;
    if (!mayEmbed(event.origin, this.#patterns, location.origin)) return false;
    return this.#origin === undefined || this.#origin === event.origin;
  }

  async #receive(event) {
    if (!this.#fromHost(event)) return;
    const message = event.data;
    if (typeof message !== 'object' || message === null || typeof message.method !== 'string' || typeof message.url !== 'string') return;
    this.#origin = event.origin;
    this.#uid = message.headers?.uid ?? this.#uid;
    const answer = { statusCode: 200, headers: { id: message.headers?.id }, body: undefined };
    try {
      answer.body = await this.#handle(message);
    } catch (problem) {
      const refused = problem instanceof Refused ? problem : new Refused(500, 'unexpectedError', String(problem));
      answer.statusCode = refused.status;
      answer.body = refused.body;
    }
    this.#post(event.origin, answer);
  }

  #handle(message) {
    for (const { method, pattern, names, handler } of this.#routes) {
      const match = method === message.method && pattern.exec(message.url);
      if (!match) continue;
      const params = Object.fromEntries(names.map((name, i) => [name, decodeURIComponent(match[i + 1])]));
      return handler(message.body, params);
    }
    throw notSupported(`${message.method} ${message.url}`);
  }
}

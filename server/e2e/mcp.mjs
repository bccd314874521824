// Drives one MCP session with an SDK of Anthropic's, knowing only the endpoint's
// address, and prints what happened as JSON.
//
//   node mcp.mjs v1|v2 MCP-ADDRESS EMAIL [microsoft] < calls.json
//
// Standard input is a list of {"tool": …, "arguments": …}.
import { readFileSync } from 'node:fs';

import { Browser } from './browser.mjs';

const [generation, address, email, by] = process.argv.slice(2);
const calls = JSON.parse(readFileSync(0, 'utf8') || '[]');
const url = new URL(address);

const sdk =
  generation === 'v1'
    ? {
        ...(await import('@modelcontextprotocol/sdk/client/index.js')),
        ...(await import('@modelcontextprotocol/sdk/client/streamableHttp.js')),
        ...(await import('@modelcontextprotocol/sdk/client/auth.js')),
      }
    : await import('@modelcontextprotocol/client');

const browser = new Browser(url.origin);

const provider = {
  redirectUrl: 'http://127.0.0.1:33999/callback',
  clientMetadata: {
    client_name: `End-to-end ${generation}`,
    redirect_uris: ['http://127.0.0.1:33999/callback'],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  },
  state: () => 'state-of-the-client',
  clientInformation() {
    return this.information;
  },
  saveClientInformation(information) {
    this.information = information;
  },
  tokens() {
    return this.current;
  },
  saveTokens(tokens) {
    this.current = tokens;
  },
  saveCodeVerifier(verifier) {
    this.verifier = verifier;
  },
  codeVerifier() {
    return this.verifier;
  },
  async redirectToAuthorization(to) {
    this.authorization = Object.fromEntries(to.searchParams);
    if (by === 'microsoft') await browser.microsoftSignIn(email);
    else await browser.devSignIn(email);
    const { location, seen, screen } = await browser.authorize(to);
    this.seen = seen;
    this.screen = screen;
    this.code = location.searchParams.get('code');
    this.iss = location.searchParams.get('iss');
    this.returnedState = location.searchParams.get('state');
  },
};

function newClient() {
  const options = generation === 'v2' ? { versionNegotiation: { mode: 'auto' } } : {};
  return new sdk.Client({ name: `end-to-end-${generation}`, version: '1' }, options);
}

const transportOptions = { authProvider: provider, requestInit: { headers: browser.address } };

const started = Date.now();
let client = newClient();
let transport = new sdk.StreamableHTTPClientTransport(url, transportOptions);
try {
  await client.connect(transport);
  throw new Error('it connected without a token');
} catch (e) {
  if (!(e instanceof sdk.UnauthorizedError)) throw e;
  await transport.finishAuth(provider.code, generation === 'v2' ? provider.iss : undefined);
  client = newClient();
  transport = new sdk.StreamableHTTPClientTransport(url, transportOptions);
  await client.connect(transport);
}
const connectedIn = Date.now() - started;

async function call({ tool, arguments: args }) {
  try {
    const result = await client.callTool({ name: tool, arguments: args });
    return {
      tool,
      isError: result.isError ?? false,
      text: result.content.map((c) => c.text).join('\n'),
      structured: result.structuredContent,
      meta: result._meta,
    };
  } catch (e) {
    return { tool, thrown: e.message };
  }
}

const tools = await client.listTools();
const results = [];
for (const c of calls) results.push(await call(c));

// A refresh: the access token is made useless, and the client must get another by itself.
const before = provider.current;
provider.current = { ...before, access_token: `${before.access_token}x` };
const afterRefresh = await call({ tool: 'whoami', arguments: {} });
const refreshed = provider.current.refresh_token !== before.refresh_token;

console.log(
  JSON.stringify({
    connected_ms: connectedIn,
    server: client.getServerVersion(),
    instructions: client.getInstructions(),
    protocol: transport.protocolVersion,
    session: transport.sessionId ?? null,
    authorization: provider.authorization,
    seen: provider.seen,
    screen: provider.screen,
    iss: provider.iss,
    state: provider.returnedState,
    token: JSON.parse(Buffer.from(before.access_token.split('.')[1], 'base64url')),
    token_header: JSON.parse(Buffer.from(before.access_token.split('.')[0], 'base64url')),
    access_token: provider.current.access_token,
    tools: tools.tools,
    results,
    refreshed,
    after_refresh: afterRefresh,
  }),
);
await client.close();

// Drives one client that people use, as they would: it is told the connector's
// address, prints an address to open, and a browser that is signed in opens it
// and presses Allow. Prints what the client then got as JSON.
//
//   node clients.mjs mcp-remote|inspector|claude-code MCP-ADDRESS EMAIL
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

import { Browser } from './browser.mjs';

const [client, address, email] = process.argv.slice(2);
const browser = new Browser(new URL(address).origin);
await browser.devSignIn(email);

// The client's own folder, so that nothing of the machine's is read or changed.
const home = mkdtempSync(join(tmpdir(), `pbmb-${client}-`));
const env = {
  HOME: home,
  PATH: `${resolve('node_modules/node/bin')}:${process.env.PATH}`,
  TERM: 'dumb',
  COLUMNS: '2000', // no address is broken into lines
};

/**
 * Runs a program to its end and opens the first authorization address that it
 * prints, as a person with a browser would. On a terminal, where it wants one.
 */
function run(command, { terminal = false, more = {} } = {}) {
  const quoted = command.map((c) => `'${c.replaceAll("'", `'\\''`)}'`).join(' ');
  const [program, ...args] = terminal ? ['script', '-qefc', `stty cols 2000; exec ${quoted}`, '/dev/null'] : command;
  const child = spawn(program, args, { env: { ...env, ...more }, stdio: ['ignore', 'pipe', 'pipe'] });
  let out = '';
  let opened;
  const read = (chunk) => {
    out += chunk;
    const found = authorizationIn(out);
    if (!found || opened) return;
    opened = open(found);
    opened.catch(() => child.kill()); // it would wait for an answer that does not come
  };
  child.stdout.on('data', read);
  child.stderr.on('data', read);
  return new Promise((done, fail) => {
    child.on('error', fail);
    child.on('close', async (code) => {
      try {
        done({ code, out: plain(out), opened: await opened });
      } catch (e) {
        fail(new Error(`${e.message}\n${plain(out)}`));
      }
    });
  });
}

const plain = (text) => text.replaceAll(/\u001b\][^\u0007\u001b]*(\u0007|\u001b\\)/g, '').replaceAll(/\u001b\[[0-9;?]*[A-Za-z]/g, '');

function authorizationIn(text) {
  const found = plain(text).match(/https?:\/\/\S*\/api\/auth\/oauth2\/authorize\?[^\s'"<>]+(?=[\s'"<>])/);
  return found?.[0];
}

/** Opens an authorization address and follows the answer to the client. */
async function open(to) {
  const { location, screen } = await browser.authorize(to);
  if (!screen) throw new Error(`the browser was sent to ${location}`);
  const answer = await fetch(location);
  await answer.text();
  return { request: Object.fromEntries(new URL(to).searchParams), screen, error: location.searchParams.get('error'), delivered: answer.status };
}

function expectDone(result) {
  if (result.code !== 0) throw new Error(`it ended with ${result.code}\n${result.out}`);
  return result;
}

const drivers = {
  // A program that speaks over its standard input and output, for hosts that
  // start programs; an SDK is the host here.
  async 'mcp-remote'() {
    const { Client } = await import('@modelcontextprotocol/sdk/client/index.js');
    const { StdioClientTransport } = await import('@modelcontextprotocol/sdk/client/stdio.js');
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [resolve('node_modules/mcp-remote/dist/proxy.js'), address, '--allow-http'],
      env,
      stderr: 'pipe',
    });
    let log = '';
    let opened;
    transport.stderr.on('data', (chunk) => {
      log += chunk;
      const found = authorizationIn(log);
      if (found && !opened) opened = open(found);
    });
    const host = new Client({ name: 'host', version: '1' });
    try {
      await host.connect(transport);
      const tools = (await host.listTools()).tools.map((t) => t.name);
      const answer = await host.callTool({ name: 'whoami', arguments: {} });
      return { ...(await opened), tools, whoami: answer.structuredContent };
    } catch (e) {
      throw new Error(`${e.message}\n${log}`);
    } finally {
      await host.close();
    }
  },

  // The protocol's own debugging program, which also judges the tools' schemas.
  async inspector() {
    const inspector = [resolve('node_modules/node/bin/node'), resolve('node_modules/.bin/mcp-inspector'), '--cli', address, '--transport', 'http'];
    const more = { MCP_INSPECTOR_SECRET_STORE: 'file' };
    const first = expectDone(await run([...inspector, '--method', 'tools/list', '--strict'], { terminal: true, more }));
    const called = expectDone(await run([...inspector, '--stored-auth-only', '--method', 'tools/call', '--tool-name', 'whoami'], { more }));
    const answer = JSON.parse(called.out.slice(called.out.indexOf('{')));
    return {
      ...first.opened,
      tools: [...first.out.matchAll(/"name": "([a-z_]+)"/g)].map((m) => m[1]),
      whoami: answer.structuredContent,
    };
  },

  // Its id is the address of a metadata document.
  async 'claude-code'() {
    const claude = resolve('node_modules/@anthropic-ai/claude-code-linux-x64/claude');
    const more = { DISABLE_AUTOUPDATER: '1', CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1' };
    expectDone(await run([claude, 'mcp', 'add', '--transport', 'http', 'pbmb', address], { more }));
    const before = expectDone(await run([claude, 'mcp', 'list'], { more }));
    const login = expectDone(await run([claude, 'mcp', 'login', 'pbmb'], { terminal: true, more }));
    const after = expectDone(await run([claude, 'mcp', 'list'], { more }));
    return { ...login.opened, before: before.out, after: after.out };
  },
};

try {
  console.log(JSON.stringify(await drivers[client]()));
} finally {
  rmSync(home, { recursive: true, force: true });
}

// A bare echo tool on the TypeScript SDK's newer generation.
import http from 'node:http';

import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';

const inputSchema = z.object({ message: z.string() });

const handler = createMcpHandler(
  () => {
    const server = new McpServer({ name: 'echo', version: '1' });
    server.registerTool('echo', { description: 'Echo', inputSchema }, async ({ message }) => ({
      content: [{ type: 'text', text: message }],
    }));
    return server;
  },
  { responseMode: 'json' },
);

http.createServer(toNodeHandler(handler)).listen(Number(process.argv[2]), '127.0.0.1');

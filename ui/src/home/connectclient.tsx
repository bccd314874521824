import { CopyButton } from "../ui/copy";

// ConnectClient gives what an MCP client needs: its one address.
export function ConnectClient() {
  const address = `${location.origin}/api/mcp`;
  const claude = `claude mcp add --transport http pbmb ${address}`;
  return (
    <aside class="panel" aria-labelledby="connect-client">
      <h2 id="connect-client">Connect an agent</h2>
      <p>Any MCP client can ask under your rights. It sees what you see, and never personal data that you may not read.</p>
      <Line title="Claude Code" text={claude} what="the command for Claude Code" />
      <Line title="Other clients" text={address} what="the address" />
      <p class="quiet">The client opens your browser once, so that you can allow it.</p>
    </aside>
  );
}

function Line({ title, text, what }: { title: string; text: string; what: string }) {
  return (
    <div>
      <h3 class="line-title">
        {title} <CopyButton text={text} what={what} />
      </h3>
      <code class="line">{text}</code>
    </div>
  );
}

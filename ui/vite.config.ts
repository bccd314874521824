import { defineConfig } from "vitest/config";

export default defineConfig({
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    // The policy is script-src 'self': nothing may end up inline.
    assetsInlineLimit: 0,
    manifest: true, // for the test of what the first screen loads
    modulePreload: { polyfill: false },
  },
  test: { environment: "happy-dom", testTimeout: 30_000, expect: { poll: { timeout: 10_000 } } },
});

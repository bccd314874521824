import type { ComponentChildren } from "preact";
import { getMe } from "./api/operations";
import { ConnectOutcome } from "./connectoutcome";
import { MeContext } from "./me";
import { useAddress } from "./router";
import { SearchBox } from "./searchbox";
import { Brand } from "./ui/brand";
import { useLoad } from "./useload";

const links = [
  { to: "/", name: "Datasets", admin: false },
  { to: "/admin/datasets", name: "Off and on", admin: true },
  { to: "/admin/pii", name: "Personal data", admin: true },
  { to: "/admin/roles", name: "Roles", admin: true },
  { to: "/admin/sign-in", name: "Sign-in", admin: true },
  { to: "/admin/audit", name: "Audit", admin: true },
  { to: "/me", name: "You", admin: false },
];

// Layout is the frame of the screens for people who have signed in.
export function Layout({ children }: { children: ComponentChildren }) {
  const { path } = useAddress();
  const me = useLoad(getMe, "me");
  const isAdmin = me.state === "done" && me.data.roles.includes("admin");
  return (
    <MeContext.Provider value={me.state === "done" ? me.data : undefined}>
      <a class="skip" href="#main" target="_self">
        Skip to the content
      </a>
      <header class="top">
        <div class="top-inside">
          <a href="/" class="home-link" aria-label="pbmb, start page">
            <Brand />
          </a>
          <SearchBox />
          <nav aria-label="Main">
            <ul class="plain">
              {links
                .filter((link) => isAdmin || !link.admin)
                .map(({ to, name }) => (
                  <li key={to}>
                    <a href={to} aria-current={path === to ? "page" : undefined}>
                      {name}
                    </a>
                  </li>
                ))}
            </ul>
          </nav>
        </div>
      </header>
      <main id="main" class="page" tabIndex={-1}>
        <ConnectOutcome />
        {children}
      </main>
    </MeContext.Provider>
  );
}

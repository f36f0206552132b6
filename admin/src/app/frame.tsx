// The frame of every view: the bar with the user, the sidebar, breadcrumbs and the view of the address.
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { pages, viewLinks } from '../areas/registry.ts';
import { hashOf, type Route } from '../core/places.ts';
import { current } from '../core/router.ts';
import { useApp } from '../ui/app-context.ts';
import { Icon } from '../ui/icons.tsx';
import { Button } from '../ui/parts.tsx';
import { useStore } from '../ui/use-store.ts';
import { watchMissedDrops } from './drop-area.tsx';
import { Lazy } from './lazy.tsx';
import { ObjectPage } from './object-page.tsx';
import { openSearch, watchSearchKey } from './search.tsx';
import { Sidebar } from './sidebar.tsx';
import { UserName } from './user-id.tsx';

export function Frame(): JSX.Element {
  const { hash, route, turn } = useStore(current);
  const app = useApp();
  const [isOpen, setOpen] = useState(false);
  useEffect(() => watchSearchKey(app), [app]);
  useEffect(watchMissedDrops, []);
  useEffect(() => setOpen(false), [hash]);
  useEffect(() => {
    // Marks that this is the view of the current address, and not the one before it.
    const outlet = document.getElementById('app');
    if (outlet !== null) outlet.dataset['shown'] = hash;
  }, [hash]);
  return (
    <div class={isOpen ? 'frame open' : 'frame'}>
      <a
        class="skip"
        href="#main"
        onClick={(event) => {
          event.preventDefault();
          document.querySelector<HTMLElement>('main h1, main')?.focus();
        }}
      >
        Skip to the content
      </a>
      <TopBar isOpen={isOpen} route={route} toggle={() => setOpen(!isOpen)} />
      <Sidebar place={route?.place ?? []} page={route?.page ?? ''} />
      <main id="main" tabIndex={-1}>
        {route === undefined ? (
          <>
            <h1 tabIndex={-1}>This page does not exist</h1>
            <p>
              The address names no page of the console. <a href="#/">Go to the buckets</a>.
            </p>
          </>
        ) : (
          <View key={`${viewKey(route)}:${turn}`} route={route} />
        )}
      </main>
    </div>
  );
}

/** Parameters of the address change a view; another object or page is another view. */
function viewKey({ place, page }: Route): string {
  return `${page}|${hashOf(place)}`;
}

function View({ route }: { readonly route: Route }): JSX.Element {
  const { service } = useApp();
  useEffect(() => {
    // The new view is announced by its heading, unless something in the frame has the focus.
    const { activeElement } = document;
    if (activeElement === null || activeElement === document.body)
      document.querySelector<HTMLElement>('main h1')?.focus();
  }, []);
  if (route.place.length > 0) return <ObjectPage route={route} />;
  const page = pages.find(({ name, isShown, isThere = isShown }) => name === route.page && isThere(service));
  if (page === undefined) {
    return (
      <>
        <h1 tabIndex={-1}>This page does not exist</h1>
        <p>The service does not offer it, or the address is misspelt.</p>
      </>
    );
  }
  document.title = `${page.label} · Coffer`;
  return <Lazy name={`page ${page.name}`} load={page.load} with={{ query: route.query }} />;
}

interface TopBarProps {
  readonly isOpen: boolean;
  readonly route: Route | undefined;
  readonly toggle: () => void;
}

function TopBar({ isOpen, route, toggle }: TopBarProps): JSX.Element {
  const app = useApp();
  const { api, service, signOut } = app;
  // The default project name equals the product name.
  const isNamed = service.projectName !== 'Coffer';
  return (
    <header class="top">
      <button
        type="button"
        class="plain menu"
        aria-expanded={isOpen}
        aria-controls="sidebar"
        aria-label="Buckets and pages"
        onClick={toggle}
      >
        <Icon name="menu" />
      </button>
      <a class="brand" href="#/">
        Coffer{isNamed ? <small> {service.projectName}</small> : null}
      </a>
      <button type="button" class="search-button" aria-label="Search Ctrl K" onClick={() => openSearch(app)}>
        <Icon name="search" /> <span>Search</span> <kbd>Ctrl K</kbd>
      </button>
      {viewLinks.map(({ label, title, icon, hrefOf }) => {
        const href = route === undefined ? undefined : hrefOf(route);
        return href === undefined ? null : (
          <a key={label} class="view-link" href={href} title={title} aria-label={label}>
            <Icon name={icon} /> <span>{label}</span>
          </a>
        );
      })}
      {service.isReadOnly ? <span class="badge">read-only</span> : null}
      <UserName id={service.userId} />
      <Button class="small" onClick={signOut}>
        {api.authorization === undefined ? 'Sign in' : 'Sign out'}
      </Button>
    </header>
  );
}

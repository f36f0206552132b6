// The quick search (Ctrl+K): buckets, collections, groups and records by id, pages and commands.
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { commands, pages } from '../areas/registry.ts';
import { hashOf, pageHashOf, type Place } from '../core/places.ts';
import { current, go } from '../core/router.ts';
import { findObjects, type Found } from '../core/find.ts';
import type { App } from '../ui/app-context.ts';
import { Dialog, openDialog } from '../ui/dialog.tsx';
import { Icon, type IconName } from '../ui/icons.tsx';

/** Pause after the last key before the service is asked. */
const pauseMilliseconds = 150;

const nothing = { text: '', objects: [] };

interface Hit {
  readonly href: string;
  readonly label: string;
  readonly note: string;
  readonly icon: IconName;
}

/** Opens the search and goes to what was chosen. */
export function openSearch(app: App): void {
  if (document.querySelector('dialog[open]') !== null) return;
  const choose = async (): Promise<void> => {
    const href = await openDialog<string>((close) => <Search app={app} close={close} />);
    if (href !== undefined) await go(href);
  };
  void choose();
}

/** Opens the search with Ctrl+K, or Cmd+K. Returns the function that ends it. */
export function watchSearchKey(app: App): () => void {
  const watch = (event: KeyboardEvent): void => {
    if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    openSearch(app);
  };
  // Before the JSON editor, which deletes to the end of the line with this key.
  document.addEventListener('keydown', watch, { capture: true });
  return () => document.removeEventListener('keydown', watch, { capture: true });
}

function Search({ app, close }: { readonly app: App; readonly close: (href?: string) => void }): JSX.Element {
  const [typed, setTyped] = useState('');
  const [found, setFound] = useState<{ readonly text: string; readonly objects: readonly Found[] }>(nothing);
  /** Whether Enter was pressed before the objects of the typed text were known. */
  const isAwaited = useRef(false);
  const [active, setActive] = useState(0);
  const list = useRef<HTMLUListElement>(null);
  const place = current.get().route?.place ?? [];
  useEffect(() => {
    const left = new AbortController();
    const text = typed.trim();
    const show = (objects: readonly Found[]): void => {
      if (left.signal.aborted) return;
      setFound({ text, objects });
      setActive(0);
      const first = [...objects.map(asHit), ...actionsFor(app, typed, place)][0];
      if (isAwaited.current && first !== undefined) close(first.href);
      isAwaited.current = false;
    };
    // A failure means no hits; the views report failures of the connection.
    const look = async (): Promise<void> =>
      show(await findObjects(app.api, app.service, { text, place, signal: left.signal }).catch(() => []));
    const timer = setTimeout(() => void look(), pauseMilliseconds);
    return () => {
      clearTimeout(timer);
      left.abort();
    };
  }, [typed]);
  const hits = [...found.objects.map(asHit), ...actionsFor(app, typed, place)];
  useEffect(() => {
    list.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' });
  }, [active]);
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (step !== 0 && hits.length > 0) {
      event.preventDefault();
      setActive((active + step + hits.length) % hits.length);
    }
    if (event.key === 'Enter') {
      event.preventDefault();
      isAwaited.current = found.text !== typed.trim();
      const hit = hits[active];
      if (!isAwaited.current && hit !== undefined) close(hit.href);
    }
  };
  return (
    <Dialog title="Search" size="search" onClose={() => close()}>
      <input
        data-focus=""
        type="text"
        role="combobox"
        aria-expanded={hits.length > 0}
        aria-controls="search-hits"
        aria-activedescendant={hits.length > 0 ? `hit-${active}` : undefined}
        aria-label="Search buckets, collections, groups, records"
        placeholder="Id of a bucket, collection, group or record; bucket/collection/record"
        autocomplete="off"
        spellcheck={false}
        value={typed}
        onInput={(event) => {
          isAwaited.current = false;
          setTyped(event.currentTarget.value);
        }}
        onKeyDown={onKeyDown}
      />
      <ul id="search-hits" role="listbox" aria-label="Results" ref={list}>
        {hits.map(({ href, label, note, icon }, index) => (
          // The field keeps the focus; its keys move through the rows.
          <li
            key={`${href} ${label}`}
            id={`hit-${index}`}
            role="option"
            aria-selected={index === active}
            onMouseMove={() => setActive(index)}
            onClick={() => close(href)}
          >
            <Icon name={icon} /> <span>{label}</span> <small>{note}</small>
          </li>
        ))}
      </ul>
      {hits.length === 0 ? <p class="quiet no-hits">Nothing found.</p> : null}
    </Dialog>
  );
}

function asHit({ place }: Found): Hit {
  const last = place.at(-1);
  return {
    href: hashOf(place),
    label: last?.id ?? '',
    note:
      place.length === 1
        ? 'bucket'
        : `${last?.kind.name ?? ''} in ${place
            .slice(0, -1)
            .map(({ id }) => id)
            .join(' / ')}`,
    icon: last?.kind.name ?? 'bucket',
  };
}

/** Pages and commands whose names contain the text. */
function actionsFor({ service }: App, typed: string, place: Place): readonly Hit[] {
  const route = current.get().route ?? { place, page: '', query: new URLSearchParams() };
  const all: readonly Hit[] = [
    ...pages
      .filter(({ isShown }) => isShown(service))
      .map(({ name, label, icon }) => ({ href: name === '' ? '#/' : pageHashOf(name), label, note: 'page', icon })),
    ...commands
      .filter(({ isShown }) => isShown(service, route))
      .map(({ label, hrefOf }) => ({ href: hrefOf(route), label, note: 'command', icon: 'plus' as const })),
  ];
  const text = typed.trim().toLowerCase();
  return all.filter(({ label }) => label.toLowerCase().includes(text));
}

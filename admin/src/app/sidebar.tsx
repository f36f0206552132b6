// The sidebar: pages of areas, and buckets with their collections and groups, page by page and with a filter.
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { pages } from '../areas/registry.ts';
import { displayText, memberText } from '../core/json-text.ts';
import { loadPage } from '../core/objects.ts';
import { below, hashOf, kinds, listPathOf, pageHashOf, type Kind, type Place } from '../core/places.ts';
import { treeVersion, useApp } from '../ui/app-context.ts';
import { Icon } from '../ui/icons.tsx';
import { Button } from '../ui/parts.tsx';
import { useStore } from '../ui/use-store.ts';

const pageSize = 100;
/** Pause after the last key before the filter is applied. */
const filterMilliseconds = 200;

export interface SidebarProps {
  /** The object of the current view. */
  readonly place: Place;
  readonly page: string;
}

export function Sidebar({ place, page }: SidebarProps): JSX.Element {
  const { service } = useApp();
  const shown = pages.filter(({ isShown }) => isShown(service));
  const [typed, setTyped] = useState('');
  const [filter, setFilter] = useState('');
  useEffect(() => {
    const timer = setTimeout(() => setFilter(typed.trim()), filterMilliseconds);
    return () => clearTimeout(timer);
  }, [typed]);
  return (
    <nav id="sidebar" class="sidebar" aria-label="Buckets and pages">
      <ul class="side-pages">
        {shown.map(({ name, label, icon }) => (
          <li key={name}>
            <a
              href={name === '' ? '#/' : pageHashOf(name)}
              aria-current={place.length === 0 && page === name ? 'page' : undefined}
            >
              <Icon name={icon} /> {label}
            </a>
          </li>
        ))}
      </ul>
      <input
        type="search"
        class="side-filter"
        aria-label="Find a bucket"
        placeholder="Find a bucket"
        autocomplete="off"
        spellcheck={false}
        value={typed}
        onInput={(event) => setTyped(event.currentTarget.value)}
      />
      <Branch parent={[]} kind={kinds.bucket} place={place} filter={filter} empty="No buckets" />
    </nav>
  );
}

interface Branch {
  readonly ids: readonly string[];
  readonly next: string | undefined;
}

interface BranchProps {
  readonly parent: Place;
  readonly kind: Kind;
  /** The object of the current view. */
  readonly place: Place;
  readonly filter: string;
  readonly empty: string;
}

/** The children of one kind, a page at a time. */
function Branch({ parent, kind, place, filter, empty }: BranchProps): JSX.Element | null {
  const { api } = useApp();
  const version = useStore(treeVersion);
  const [branch, setBranch] = useState<Branch | undefined>(undefined);
  const path = listPathOf(parent, kind);
  const load = async (query: string, before: readonly string[], signal?: AbortSignal): Promise<void> => {
    const { rows, next } = await loadPage(api, path, query, signal);
    const ids = rows.map((row) => displayText(memberText(row, 'id') ?? '""'));
    if (signal?.aborted !== true) setBranch({ ids: [...before, ...ids], next });
  };
  useEffect(() => {
    const left = new AbortController();
    const query = new URLSearchParams({ _sort: 'id', _limit: String(pageSize), _fields: 'id' });
    if (filter !== '') query.set('like_id', filter);
    // What the user may not list stays hidden here; the view itself reports it.
    load(query.toString(), [], left.signal).catch(() => {
      if (!left.signal.aborted) setBranch({ ids: [], next: undefined });
    });
    return () => left.abort();
  }, [path, filter, version]);
  if (branch === undefined) return null;
  const isInView = parent.every(({ kind: of, id }, index) => place[index]?.kind === of && place[index].id === id);
  const current = isInView ? place[parent.length] : undefined;
  // The current object stays in view, even if it is on a later page. A bucket may be readable in parts only.
  const isPartial = branch.next !== undefined || filter !== '' || kind.name === 'bucket';
  const isAside = isPartial && current?.kind === kind && !branch.ids.includes(current.id);
  const ids = isAside ? [current.id, ...branch.ids] : branch.ids;
  if (ids.length === 0) return empty === '' ? null : <p class="quiet side-empty">{empty}</p>;
  return (
    <ul class={`branch ${kind.name}`}>
      {ids.map((id) => (
        <Node key={id} at={below(parent, kind, id)} kind={kind} id={id} place={place} />
      ))}
      {branch.next === undefined ? null : (
        <li>
          <Button class="small plain more" onClick={() => load(branch.next ?? '', branch.ids).catch(() => undefined)}>
            Show more {kind.plural}
          </Button>
        </li>
      )}
    </ul>
  );
}

interface NodeProps {
  readonly at: Place;
  readonly kind: Kind;
  readonly id: string;
  readonly place: Place;
}

function Node({ at, kind, id, place }: NodeProps): JSX.Element {
  const { service } = useApp();
  const step = place[at.length - 1];
  const isOnWay = at.every(
    ({ kind: each, id: name }, index) => place[index]?.kind === each && place[index].id === name,
  );
  const [isOpen, setOpen] = useState(isOnWay);
  useEffect(() => {
    if (isOnWay) setOpen(true);
  }, [isOnWay, step]);
  const isBucket = kind.name === 'bucket';
  const name = isBucket && (id === service.personalBucket || id === 'default') ? 'Personal bucket' : id;
  return (
    <li>
      <span class="node">
        {isBucket ? (
          <button
            type="button"
            class="plain"
            aria-expanded={isOpen}
            aria-label={`Contents of ${name}`}
            onClick={() => setOpen(!isOpen)}
          >
            <Icon name={isOpen ? 'down' : 'right'} />
          </button>
        ) : null}
        <a
          href={hashOf(at)}
          title={id}
          aria-current={isOnWay && place.length === at.length ? 'page' : isOnWay ? 'true' : undefined}
        >
          <Icon name={kind.name} /> <span>{name}</span>
        </a>
      </span>
      {isBucket && isOpen ? (
        <>
          <Branch parent={at} kind={kinds.collection} place={place} filter="" empty="No collections" />
          <Branch parent={at} kind={kinds.group} place={place} filter="" empty="" />
        </>
      ) : null}
    </li>
  );
}

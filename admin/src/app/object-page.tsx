// The view of one object: its name and version, its tabs, and a notice when another user changes it.
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { ObjectFacts, Tab } from '../areas/area.ts';
import { tabs } from '../areas/registry.ts';
import { ServiceFailure } from '../core/errors.ts';
import { displayText, elementsOf, memberText } from '../core/json-text.ts';
import { poll } from '../core/live.ts';
import { loadObject, type StoredObject } from '../core/objects.ts';
import { everything, loadPermits } from '../core/permits.ts';
import { hashOf, kinds, listPathOf, pathOf, type Place, type Route } from '../core/places.ts';
import { isGenerated, titleOf } from '../core/record-title.ts';
import { mayLeave } from '../core/router.ts';
import { useApp } from '../ui/app-context.ts';
import { useLoad } from '../ui/hooks.ts';
import { Button, FailureNote, Loading, Moment } from '../ui/parts.tsx';
import { say } from '../ui/toast.tsx';
import { Breadcrumbs } from './breadcrumbs.tsx';
import { DropArea } from './drop-area.tsx';
import { Lazy } from './lazy.tsx';

/** An object without attributes, in place of one that is not loaded yet. */
const unknown: StoredObject = { etag: '', data: '{}', permissions: new Map() };

export function ObjectPage({ route: { place, query } }: { readonly route: Route }): JSX.Element {
  const { api, service } = useApp();
  const { kind, id } = place.at(-1) ?? { kind: kinds.bucket, id: '' };
  const path = pathOf(place);
  const { value: object, error, isLoading, reload } = useLoad((signal) => loadObject(api, path, signal), path);
  // Something missing has no parts. What may not be read may have parts that may.
  const isMissing = error instanceof ServiceFailure && error.status === 404;
  const isRefused = error instanceof ServiceFailure && error.status === 403;
  const { value: permits = everything } = useLoad(
    async (signal) =>
      object !== undefined || isRefused ? loadPermits({ api, service }, place, object, signal) : everything,
    object?.etag ?? String(isRefused),
  );
  const facts = { kind, object, service, place, permits };
  const shown = tabsOf(facts);
  const choose = (among: readonly Tab[]): Tab | undefined =>
    among.find(({ name }) => name === query.get('_tab')) ?? among[0];
  const tab = choose(shown);
  // The code of the tab is loaded at the same time as the object. Where that fails, the tab says so.
  useEffect(() => {
    const expected = choose(tabsOf({ ...facts, object: unknown }));
    expected?.load().catch(() => undefined);
  }, [path]);
  const isPersonal = kind.name === 'bucket' && (id === service.personalBucket || id === 'default');
  const isTitled = kind.name === 'record' && object !== undefined && isGenerated(id);
  const title = isTitled ? titleOf(object.data) : id;
  useEffect(() => {
    document.title = `${title ?? id} · ${kind.name} · Coffer`;
  }, [title, id, kind]);
  const fileTab = permits.mayChange ? shown.find(({ takesFiles }) => takesFiles) : undefined;
  return (
    <DropArea isOpen={fileTab !== undefined} hash={hashOf(place, { _tab: fileTab?.name ?? '' })}>
      <Breadcrumbs place={place} />
      <header class="page-head">
        <h1 tabIndex={-1}>
          {title === undefined ? null : <small>{kind.name} </small>}
          {isPersonal ? 'Personal bucket' : (title ?? 'Record')}
        </h1>
        {object === undefined ? null : <Facts object={object} note={isPersonal || isTitled ? id : ''} />}
      </header>
      {error === undefined ? null : <FailureNote error={error} onRetry={reload} />}
      {isRefused && service.userId?.startsWith('basicauth:') === true ? <OtherUserNote /> : null}
      {object === undefined ? null : <News key={object.etag} place={place} object={object} reload={reload} />}
      {isMissing || (isLoading && object === undefined) || tab === undefined ? null : (
        <>
          <nav class="tabs" aria-label="Parts">
            {shown.map(({ name, label }) => (
              <a
                key={name}
                href={hashOf(place, { _tab: name })}
                aria-current={name === tab.name ? 'page' : undefined}
                ref={name === tab.name ? showTab : null}
              >
                {label}
              </a>
            ))}
          </nav>
          <section aria-label={tab.label} key={tab.name}>
            <Lazy name={`tab ${tab.name}`} load={tab.load} with={{ ...facts, id, failure: error, query, reload }} />
          </section>
        </>
      )}
      {isLoading && object === undefined ? <Loading /> : null}
    </DropArea>
  );
}

function tabsOf(facts: ObjectFacts): readonly Tab[] {
  return tabs.filter(({ isShown }) => isShown(facts));
}

/** A mistyped password leads here from a link, and is not refused. */
function OtherUserNote(): JSX.Element {
  const { signOut } = useApp();
  return (
    <p class="note">
      With Basic authentication a mistyped name or password is another user, without these permissions.{' '}
      <Button class="small" onClick={signOut}>
        Sign in again
      </Button>
    </p>
  );
}

/** On a phone the row of tabs may be wider than the page. */
function showTab(element: HTMLElement | null): void {
  element?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
}

function Facts({ object, note }: { readonly object: StoredObject; readonly note: string }): JSX.Element {
  const moment = memberText(object.data, 'last_modified');
  return (
    <p class="facts">
      {note === '' ? null : <code>{note}</code>} Changed <Moment text={moment} /> <code>{moment}</code>
    </p>
  );
}

interface NewsProps {
  readonly place: Place;
  readonly object: StoredObject;
  readonly reload: () => void;
}

/** A notice when another user changes the object. Unsaved edits are kept. */
function News({ place, object, reload }: NewsProps): JSX.Element {
  const { api } = useApp();
  const [news, setNews] = useState<'changed' | 'deleted' | undefined>(undefined);
  useEffect(() => {
    const last = place.at(-1);
    if (last === undefined) return;
    const left = new AbortController();
    const { signal } = left;
    const id = displayText(memberText(object.data, 'id') ?? '""');
    poll({ api, signal, say }, async () => {
      const query = new URLSearchParams({ _since: object.etag, id: `"${id}"` });
      const path = listPathOf(place.slice(0, -1), last.kind);
      // 410: the list no longer records all deletions since then (setting `refuse_outdated_since`).
      const answer = await api.request('GET', path, { query, allowed: [401, 403, 404, 410], signal });
      const [change] = answer.status === 200 ? elementsOf(memberText(answer.text, 'data') ?? '[]') : [];
      if (change !== undefined && !signal.aborted) {
        setNews(memberText(change, 'deleted') === 'true' ? 'deleted' : 'changed');
      }
    });
    return () => left.abort();
  }, [api, object.etag]);
  const show = async (): Promise<void> => {
    if (await mayLeave()) reload();
  };
  return (
    <div aria-live="polite">
      {news === undefined ? null : (
        <p class="note">
          Another user has {news} this object.{' '}
          <Button class="small" onClick={show}>
            Show the current version
          </Button>
        </p>
      )}
    </div>
  );
}

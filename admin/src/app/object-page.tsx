// The view of one object: its name and version, its tabs, and a notice when another user changes it.
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { tabs } from '../areas/registry.ts';
import { ServiceFailure } from '../core/errors.ts';
import { displayText, elementsOf, memberText } from '../core/json-text.ts';
import { poll } from '../core/live.ts';
import { loadObject, type StoredObject } from '../core/objects.ts';
import { hashOf, kinds, listPathOf, pathOf, type Place, type Route } from '../core/places.ts';
import { mayLeave } from '../core/router.ts';
import { useApp } from '../ui/app-context.ts';
import { useLoad } from '../ui/hooks.ts';
import { Button, FailureNote, Loading, Moment } from '../ui/parts.tsx';
import { say } from '../ui/toast.tsx';
import { Breadcrumbs } from './breadcrumbs.tsx';
import { DropArea } from './drop-area.tsx';
import { Lazy } from './lazy.tsx';

export function ObjectPage({ route: { place, query } }: { readonly route: Route }): JSX.Element {
  const { api, service } = useApp();
  const { kind, id } = place.at(-1) ?? { kind: kinds.bucket, id: '' };
  const path = pathOf(place);
  const { value: object, error, isLoading, reload } = useLoad((signal) => loadObject(api, path, signal), path);
  const facts = { kind, object, service, place };
  const shown = tabs.filter(({ isShown }) => isShown(facts));
  const tab = shown.find(({ name }) => name === query.get('_tab')) ?? shown[0];
  // Something missing has no parts. What may not be read may have parts that may.
  const isMissing = error instanceof ServiceFailure && error.status === 404;
  const isRefused = error instanceof ServiceFailure && error.status === 403;
  const isPersonal = kind.name === 'bucket' && (id === service.personalBucket || id === 'default');
  useEffect(() => {
    document.title = `${id} · ${kind.name} · Coffer`;
  }, [id, kind]);
  const fileTab = shown.find(({ takesFiles }) => takesFiles);
  return (
    <DropArea isOpen={fileTab !== undefined} hash={hashOf(place, { _tab: fileTab?.name ?? '' })}>
      <Breadcrumbs place={place} />
      <header class="page-head">
        <h1 tabIndex={-1}>
          <small>{kind.name} </small>
          {isPersonal ? 'Personal bucket' : id}
        </h1>
        {object === undefined ? null : <Facts object={object} note={isPersonal ? id : ''} />}
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

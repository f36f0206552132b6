// The permissions of an object: the matrix, the picker, and the question why a user may do something.
import type { JSX } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { findObject, type StoredObject } from '../../core/objects.ts';
import { pathOf } from '../../core/places.ts';
import { maxChecked, principalCheck, type PrincipalCheck } from '../../core/principals.ts';
import { useApp } from '../../ui/app-context.ts';
import { resolveConflict } from '../../ui/conflict.tsx';
import { ask } from '../../ui/dialog.tsx';
import { DraftNote } from '../../ui/draft-note.tsx';
import { useAttempt, useLoad, useWork } from '../../ui/hooks.ts';
import { FailureNote, Loading } from '../../ui/parts.tsx';
import { PrincipalPicker } from '../../ui/principal-picker.tsx';
import { say } from '../../ui/toast.tsx';
import type { TabProps } from '../area.ts';
import { describeEntries, entriesOf, keyOf, principalsOf, readEntries, withEntry, type Entries } from './entries.ts';
import { Matrix } from './matrix.tsx';
import './permissions.css';
import { loadLevels, type Level } from './rules.ts';
import { Why } from './why.tsx';

interface Props extends TabProps {
  readonly object: StoredObject;
}

export function PermissionsTab(props: TabProps): JSX.Element | null {
  const { object } = props;
  return object === undefined ? null : <View {...props} object={object} />;
}

function View(props: Props): JSX.Element {
  const { place, kind, object, query } = props;
  const { api, service } = useApp();
  const check = useMemo(() => principalCheck(api, service), [api, service]);
  const version = `${pathOf(place)} ${object.etag}`;
  const {
    value: levels,
    error,
    reload,
  } = useLoad((signal) => loadLevels({ api, service }, place, object, signal), version);
  if (error !== undefined) return <FailureNote error={error} onRetry={reload} />;
  if (levels === undefined) return <Loading />;
  const names = [...new Set([...kind.permissions, ...object.permissions.keys()])];
  const known = levels.flatMap(({ permissions }) => [...(permissions?.values() ?? [])].flat());
  const isVisible = object.permissions.size > 0;
  const hidden = levels.slice(0, -1).filter(({ permissions }) => permissions === undefined);
  return (
    <>
      {isVisible ? (
        <Editor {...props} names={names} levels={levels} check={check} />
      ) : (
        <>
          <p class="note">Only users with write permission on this object itself see its permissions.</p>
          <Matrix names={names} entries={entriesOf(names, new Map())} levels={levels} check={check} />
        </>
      )}
      {hidden.length === 0 ? null : (
        <p class="hint">
          You cannot see the permissions of {hidden.map(({ kind: of, id }) => `the ${of} ${id}`).join(' and ')}. They
          may give more.
        </p>
      )}
      <Why place={place} levels={levels} permissions={names} known={known} query={query} version={version} />
    </>
  );
}

interface EditorProps extends Props {
  readonly names: readonly string[];
  readonly levels: readonly Level[];
  readonly check: PrincipalCheck;
}

function Editor({ place, object, reload, names, levels, check }: EditorProps): JSX.Element {
  const { api, service } = useApp();
  const path = pathOf(place);
  const original = entriesOf(names, object.permissions);
  const [entries, setEntries] = useState(original);
  useEffect(() => setEntries(original), [object.etag]);
  const text = keyOf(entries);
  const work = useWork(`${service.userId ?? ''}.permissions.${path}`, {
    text,
    original: keyOf(original),
    etag: object.etag,
  });
  const { error, isBusy, attempt } = useAttempt();
  const finish = (message: string): void => {
    work.finish();
    reload();
    say(message);
  };
  const send = async (etag: string): Promise<void> => {
    const body = JSON.stringify({ permissions: entries });
    const answer = await api.request('PATCH', path, { body, headers: { 'If-Match': etag }, allowed: [412] });
    if (answer.status !== 412) {
      finish('Permissions saved.');
      return;
    }
    const theirs = await findObject(api, path);
    if (theirs === undefined) throw new Error('This object was deleted in the meantime.');
    const choice = await resolveConflict(
      describeEntries(entries),
      describeEntries(entriesOf(names, theirs.permissions)),
    );
    if (choice === 'theirs') finish('Nothing was saved.');
    if (choice === 'mine') await send(theirs.etag);
  };
  const save = async (): Promise<void> => {
    if (await isMeant(entries, original, check)) await send(object.etag);
  };
  return (
    <form
      class="permissions"
      onSubmit={(event) => {
        event.preventDefault();
        void attempt(save);
      }}
    >
      <DraftNote work={work} etag={object.etag} onRestore={(draft) => setEntries(readEntries(draft, entries))} />
      <Matrix names={names} entries={entries} levels={levels} check={check} onChange={setEntries} />
      <PrincipalPicker
        label="Add a principal"
        place={place}
        check={check}
        onPick={(principal) => {
          if (!principalsOf(entries).includes(principal)) setEntries(withEntry(entries, 'read', principal, true));
        }}
      />
      <p class="hint">
        A check is an entry of this object. Links show entries of its parents, which apply here too.
        {service.userId === undefined ? '' : ' You stay a writer of what you change.'}
      </p>
      <div class="save-bar">
        <FailureNote error={error} />
        <div class="actions">
          <button type="submit" class="primary" data-key="save" disabled={isBusy}>
            Save permissions
          </button>
          <button type="button" disabled={text === keyOf(original)} onClick={() => setEntries(original)}>
            Undo changes
          </button>
          {text === keyOf(original) ? null : <span class="quiet">Not saved</span>}
        </div>
      </div>
    </form>
  );
}

/** Asks before new principals that are unknown are saved. */
async function isMeant(entries: Entries, original: Entries, check: PrincipalCheck): Promise<boolean> {
  const before = new Set(principalsOf(original));
  const added = principalsOf(entries)
    .filter((principal) => !before.has(principal))
    .slice(0, maxChecked);
  const faults = await Promise.all(added.map(check));
  const doubtful = added.flatMap((principal, index) => {
    const fault = faults[index];
    return fault === undefined ? [] : [`${principal} ${fault}.`];
  });
  if (doubtful.length === 0) return true;
  return ask({
    title: 'Save unknown principals?',
    text: doubtful.join(' '),
    yes: 'Save nevertheless',
    no: 'Correct them',
  });
}

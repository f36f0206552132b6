// The attributes of an existing object: edit, save with conflict detection, delete.
import type { JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { fieldFaultsOf } from '../../core/errors.ts';
import { faultOfObject, memberText } from '../../core/json-text.ts';
import { editableText, sentText, serverOwned } from '../../core/attributes.ts';
import { findObject, loadObject, type StoredObject } from '../../core/objects.ts';
import { hashOf, pathOf } from '../../core/places.ts';
import { useApp } from '../../ui/app-context.ts';
import { choose } from '../../ui/dialog.tsx';
import { DraftNote } from '../../ui/draft-note.tsx';
import { useAttempt, useLoad, useWork } from '../../ui/hooks.ts';
import { askToMerge, type MergeAnswer } from '../../ui/merge-dialog.tsx';
import { FailureNote, NoPermission } from '../../ui/parts.tsx';
import { say } from '../../ui/toast.tsx';
import type { TabProps } from '../area.ts';
import { JsonEditor } from '../../ui/json-editor.tsx';
import { AttributesEditor } from '../../ui/forms/attributes-editor.tsx';
import { RemoveButton } from './remove-button.tsx';

export function AttributesTab(props: TabProps): JSX.Element | null {
  const { service } = useApp();
  const { object } = props;
  if (object === undefined) return null;
  const { kind, permits } = props;
  return (
    <>
      {permits.mayChange ? <Editor {...props} object={object} /> : <Shown {...props} object={object} />}
      <div class="remove">
        {kind.name === 'record' && !service.isReadOnly && permits.mayCreate('record') ? (
          <a class="button" href={hashOf(props.place.slice(0, -1), { _tab: 'records', _new: '1', _copy: props.id })}>
            Duplicate this record
          </a>
        ) : null}
        {permits.mayChange ? <RemoveButton {...props} object={object} /> : null}
      </div>
    </>
  );
}

/** The attributes for users who may not change them. */
function Shown({ kind, object, service }: TabProps & { readonly object: StoredObject }): JSX.Element {
  const owned = serverOwned(kind.name, object.data, service.capabilities);
  return (
    <>
      <p>
        <NoPermission to={`change this ${kind.name}`} />
      </p>
      <JsonEditor label="Attributes (JSON)" text={editableText(object.data, owned)} isReadOnly />
    </>
  );
}

function Editor({ place, kind, object, reload }: TabProps & { readonly object: StoredObject }): JSX.Element {
  const { api, service } = useApp();
  const path = pathOf(place);
  const owned = serverOwned(kind.name, object.data, service.capabilities);
  const original = editableText(object.data, owned);
  const [text, setText] = useState(original);
  /** The text that was saved last, until its version arrives. */
  const saved = useRef<string | undefined>(undefined);
  useLayoutEffect(() => {
    const isSaved = (now: string): boolean => saved.current === undefined || now === saved.current;
    // What was typed since the save stays.
    setText((now) => (isSaved(now) ? original : now));
    saved.current = undefined;
  }, [object.etag, original]);
  const work = useWork(`${service.userId ?? ''}.${path}`, { text, original, etag: object.etag });
  const { error, isBusy, attempt } = useAttempt();
  const schema = useSchema(collectionPathOf(place, kind));
  const finish = (message: string): void => {
    saved.current = text;
    work.finish();
    reload();
    say(message);
  };
  const send = async (version: Version): Promise<void> => {
    const { theirs, edited } = version;
    const body = `{"data":${sentText(edited, theirs?.data ?? '{}', owned)}}`;
    const condition = theirs === undefined ? { 'If-None-Match': '*' } : { 'If-Match': theirs.etag };
    const answer = await api.request('PUT', path, { body, headers: condition, allowed: [412] });
    if (answer.status !== 412) {
      finish('Saved.');
      return;
    }
    const next = await findObject(api, path);
    const base = theirs === undefined ? '{}' : editableText(theirs.data, owned);
    const choice = await resolve(base, edited, next === undefined ? undefined : editableText(next.data, owned));
    if (choice?.choice === 'theirs') finish('Nothing was saved.');
    if (choice?.choice === 'mine') await send({ theirs: next, edited });
    if (choice?.choice === 'merged') await send({ theirs: next, edited: choice.text });
  };
  const save = (): Promise<void> =>
    attempt(async () => {
      const fault = faultOfObject(text);
      if (fault !== undefined) throw new Error(fault);
      if (text === original) say('No changes to save.');
      else await send({ theirs: object, edited: text });
    });
  return (
    <form
      class="editor"
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <DraftNote work={work} etag={object.etag} onRestore={setText} />
      <AttributesEditor text={text} schema={schema} faults={fieldFaultsOf(error)} onChange={setText} />
      <div class="save-bar">
        <FailureNote error={error} />
        <div class="actions">
          <button type="submit" class="primary" data-key="save" disabled={isBusy}>
            Save
          </button>
          <button type="button" disabled={text === original} onClick={() => setText(original)}>
            Undo changes
          </button>
          {text === original ? null : <span class="quiet">Not saved</span>}
        </div>
      </div>
    </form>
  );
}

/** Attributes to save, and the stored version that they replace; `undefined` after a deletion. */
interface Version {
  readonly theirs: StoredObject | undefined;
  readonly edited: string;
}

/** Asks what to save after another user has changed or deleted the object. */
async function resolve(base: string, mine: string, theirs: string | undefined): Promise<MergeAnswer> {
  const title = 'Another user has changed this object';
  if (theirs !== undefined) {
    return askToMerge({
      title,
      text: 'Nothing has been saved yet. Compare the version that you began with, yours, and the current one.',
      base,
      mine,
      theirs,
      labels: { base: 'Before', mine: 'Yours', theirs: 'Theirs' },
      actions: {
        stay: 'Continue editing',
        merge: 'Save the merged version',
        theirs: 'Keep theirs',
        mine: 'Overwrite with mine',
      },
    });
  }
  const choice = await choose(title, <p class="note">It was deleted. Nothing has been saved yet.</p>, [
    { value: 'edit', label: 'Continue editing' },
    { value: 'theirs', label: 'Keep it deleted' },
    { value: 'mine', label: 'Create it again with mine', isDangerous: true },
  ]);
  return choice === 'mine' || choice === 'theirs' ? { choice } : undefined;
}

function collectionPathOf(place: TabProps['place'], kind: TabProps['kind']): string | undefined {
  return kind.name === 'record' ? pathOf(place.slice(0, -1)) : undefined;
}

/** Returns the JSON Schema of the collection at a path; `undefined` while it is unknown. */
export function useSchema(collectionPath: string | undefined): string | undefined {
  const { api, service } = useApp();
  const { value } = useLoad(async (signal) => {
    if (collectionPath === undefined || !service.capabilities.has('schema')) return undefined;
    // Users who may not read the collection edit JSON.
    const collection = await loadObject(api, collectionPath, signal).catch(() => undefined);
    return collection === undefined ? undefined : memberText(collection.data, 'schema');
  }, collectionPath ?? '');
  return value;
}

// The JSON Schema of a collection: a builder for common schemas, the JSON editor for all others, a check of the existing
// records, and saving with conflict detection.
import type { JSX } from 'preact';
import { useLayoutEffect, useState } from 'preact/hooks';
import { faultOfObject, indentJson, memberText } from '../../core/json-text.ts';
import { loadObject, loadPage, type StoredObject } from '../../core/objects.ts';
import { kinds, listPathOf, pathOf } from '../../core/places.ts';
import { useApp } from '../../ui/app-context.ts';
import { resolveConflict } from '../../ui/conflict.tsx';
import { ask } from '../../ui/dialog.tsx';
import { DraftNote } from '../../ui/draft-note.tsx';
import { useAttempt, useWork } from '../../ui/hooks.ts';
import { JsonEditor } from '../../ui/json-editor.tsx';
import { Button, Empty, FailureNote, NoPermission } from '../../ui/parts.tsx';
import { say } from '../../ui/toast.tsx';
import type { TabProps } from '../area.ts';
import { Builder } from './builder.tsx';
import { CheckRecords } from './check-records.tsx';
import {
  allowsOthers,
  emptySchema,
  faultOfFields,
  fieldsOf,
  proposedFields,
  withFields,
  withOthers,
} from './fields.ts';

/** Number of records from which fields are proposed. */
const sampleSize = 100;

export function SchemaTab(props: TabProps): JSX.Element | null {
  const { object, service, permits } = props;
  if (!service.capabilities.has('schema')) return <ValidationHint />;
  if (object === undefined) return null;
  return permits.mayChange ? <Editor {...props} object={object} /> : <Shown object={object} />;
}

/** A schema without effect would mislead, so the tab only names the setting. */
function ValidationHint(): JSX.Element {
  return (
    <div class="note">
      <p>
        This service does not validate records, so a schema has no effect. This line in the configuration turns the
        validation on:
      </p>
      <pre tabIndex={0} aria-label="Line of the configuration">
        experimental_collection_schema_validation = true
      </pre>
    </div>
  );
}

function schemaOf({ data }: StoredObject): string {
  return memberText(data, 'schema') ?? '';
}

/** The schema for users who may not change it. */
function Shown({ object }: { readonly object: StoredObject }): JSX.Element {
  const stored = schemaOf(object);
  return (
    <>
      <p>
        <NoPermission to="change the schema of this collection" />
      </p>
      {stored === '' ? (
        <Empty>This collection has no schema.</Empty>
      ) : (
        <JsonEditor label="Schema (JSON)" text={indentJson(stored)} isReadOnly />
      )}
    </>
  );
}

function Editor({ place, object, reload }: TabProps & { readonly object: StoredObject }): JSX.Element {
  const { api, service } = useApp();
  const path = pathOf(place);
  const stored = schemaOf(object);
  const original = indentJson(stored === '' ? emptySchema : stored);
  const [text, setText] = useState(original);
  const [fields, setFields] = useState(() => fieldsOf(original));
  const [mode, setMode] = useState<'builder' | 'json'>('builder');
  const show = (next: string): void => {
    setText(next);
    if (faultOfObject(next) === undefined) setFields(fieldsOf(next));
  };
  useLayoutEffect(() => show(original), [object.etag, original]);
  const work = useWork(`${service.userId ?? ''}.schema.${path}`, { text, original, etag: object.etag });
  const { error, isBusy, attempt } = useAttempt();
  const fault = faultOfObject(text) ?? (mode === 'builder' ? faultOfFields(fields) : undefined);
  /** The fault when the user left a field or saved. A newer one waits until then, because its field may not be complete. */
  const [complaint, setComplaint] = useState<string | undefined>(undefined);
  const shownFault = mode === 'json' || fault === complaint ? fault : undefined;
  const build = (next: typeof fields): void => {
    if (next.length > fields.length) setComplaint(undefined);
    setFields(next);
    setText(indentJson(withFields(text, next)));
  };
  const finish = (message: string): void => {
    work.finish();
    reload();
    say(message);
  };
  const send = async (base: StoredObject, schema: string | undefined): Promise<void> => {
    const answer = await api.request('PATCH', path, {
      body: `{"data":{"schema":${schema ?? 'null'}}}`,
      headers: { 'If-Match': base.etag, 'Content-Type': contentTypeOf(schema) },
      allowed: [412],
    });
    if (answer.status !== 412) {
      finish(schema === undefined ? 'The schema is removed.' : 'The schema is saved.');
      return;
    }
    const theirs = await loadObject(api, path);
    // Another attribute of the collection was changed.
    if (schemaOf(theirs) === schemaOf(base)) {
      await send(theirs, schema);
      return;
    }
    const choice = await resolveConflict(schema === undefined ? '' : indentJson(schema), indentJson(schemaOf(theirs)));
    if (choice === 'theirs') finish('Nothing was saved.');
    if (choice === 'mine') await send(theirs, schema);
  };
  const save = (): Promise<void> =>
    attempt(async () => {
      setComplaint(fault);
      if (fault === undefined) await send(object, text);
    });
  const remove = (): Promise<void> =>
    attempt(async () => {
      const question = { title: 'Remove the schema?', text: 'Records of any form are accepted then.' };
      if (await ask({ ...question, yes: 'Remove', no: 'Keep it' })) await send(object, undefined);
    });
  const propose = (): Promise<void> =>
    attempt(async () => {
      const { rows } = await loadPage(api, listPathOf(place, kinds.record), `_limit=${sampleSize}`);
      if (rows.length === 0) throw new Error('The collection has no records.');
      const known = new Set(fields.map(({ name }) => name));
      build([...fields, ...proposedFields(rows).filter(({ name }) => !known.has(name))]);
    });
  return (
    <form
      class="editor"
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
      onFocusOut={({ target }) => {
        if (target instanceof Element && target.matches('input, select, textarea')) setComplaint(fault);
      }}
    >
      {stored === '' ? <p class="hint">This collection has no schema: it accepts records of any form.</p> : null}
      <DraftNote work={work} etag={object.etag} onRestore={show} />
      <ModeSwitch mode={mode} isDisabled={faultOfObject(text) !== undefined} onChange={setMode} />
      {mode === 'builder' && faultOfObject(text) === undefined ? (
        <>
          <Builder
            fields={fields}
            allowsOthers={allowsOthers(text)}
            onChange={build}
            onOthers={(isAllowed) => setText(indentJson(withOthers(text, isAllowed)))}
          />
          <p>
            <Button class="small" onClick={propose}>
              Propose fields from records
            </Button>
          </p>
        </>
      ) : (
        <JsonEditor label="Schema (JSON)" text={text} onChange={show} />
      )}
      <CheckRecords place={place} schema={text} isValid={fault === undefined} />
      <div class="save-bar">
        <FailureNote error={error} />
        {shownFault === undefined ? null : (
          <p class="fault" role="alert">
            {shownFault}
          </p>
        )}
        <div class="actions">
          <button
            type="submit"
            class="primary"
            data-key="save"
            disabled={isBusy || (text === original && stored !== '')}
          >
            Save the schema
          </button>
          <button type="button" disabled={text === original} onClick={() => show(original)}>
            Undo changes
          </button>
          {stored === '' ? null : (
            <Button class="danger" onClick={remove}>
              Remove the schema
            </Button>
          )}
          {text === original ? null : <span class="quiet">Not saved</span>}
        </div>
      </div>
    </form>
  );
}

/** A merge patch removes members that are null; it would also merge a schema into the old one. */
function contentTypeOf(schema: string | undefined): string {
  return schema === undefined ? 'application/merge-patch+json' : 'application/json';
}

interface ModeSwitchProps {
  readonly mode: 'builder' | 'json';
  readonly isDisabled: boolean;
  readonly onChange: (mode: 'builder' | 'json') => void;
}

function ModeSwitch({ mode, isDisabled, onChange }: ModeSwitchProps): JSX.Element {
  return (
    <div class="switch" role="group" aria-label="Editor">
      {(['builder', 'json'] as const).map((each) => (
        <button
          key={each}
          type="button"
          class="small"
          aria-pressed={mode === each}
          disabled={isDisabled}
          title={isDisabled ? 'Correct the JSON first' : undefined}
          onClick={() => onChange(each)}
        >
          {each === 'builder' ? 'Builder' : 'JSON'}
        </button>
      ))}
    </div>
  );
}

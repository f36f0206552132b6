// The form for a new object: an id, or none to let the service generate one, and attributes. Its address is that of the list
// with `_new`, so it survives Back and reload; unsaved text is kept as a draft.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { fieldFaultsOf } from '../../core/errors.ts';
import { displayText, faultOfObject, indentJson, memberText } from '../../core/json-text.ts';
import { defaultsOf } from '../../core/json-schema.ts';
import { below, hashOf, listPathOf, pathOf, type Kind, type Place } from '../../core/places.ts';
import { navigate } from '../../core/router.ts';
import { announceTreeChange, useApp } from '../app-context.ts';
import { DraftNote } from '../draft-note.tsx';
import { useAttempt, useWork } from '../hooks.ts';
import { FailureNote, Field } from '../parts.tsx';
import { say } from '../toast.tsx';
import { AttributesEditor } from './attributes-editor.tsx';

export interface CreateFormProps {
  readonly place: Place;
  readonly kind: Kind;
  /** Address of the list. */
  readonly backHref: string;
  /** JSON Schema of new records, as text. */
  readonly schema?: string | undefined;
  /** First attributes as JSON text, such as those of the object to duplicate. */
  readonly initial?: string | undefined;
}

export function CreateForm({ place, kind, backHref, schema, initial }: CreateFormProps): JSX.Element {
  const { api, service } = useApp();
  const [id, setId] = useState('');
  const [original] = useState(() => initial ?? (schema === undefined ? kind.template : indentJson(defaultsOf(schema))));
  const [text, setText] = useState(original);
  const listPath = listPathOf(place, kind);
  // The draft holds both fields, on a line each.
  const work = useWork(`${service.userId ?? ''}.new.${listPath}`, {
    text: `${id}\n${text}`,
    original: `\n${original}`,
    etag: '',
  });
  const { error, isBusy, attempt } = useAttempt();
  const restore = (draft: string): void => {
    const end = draft.indexOf('\n');
    setId(draft.slice(0, end));
    setText(draft.slice(end + 1));
  };
  const create = (): Promise<void> =>
    attempt(async () => {
      const fault = faultOfObject(text);
      if (fault !== undefined) throw new Error(fault);
      const { text: answer, status } = await api.request(
        id === '' ? 'POST' : 'PUT',
        id === '' ? listPath : pathOf(below(place, kind, id)),
        // Never overwrites an existing object.
        { body: `{"data":${text}}`, allowed: [412], ...(id === '' ? {} : { headers: { 'If-None-Match': '*' } }) },
      );
      if (status === 412) throw new Error(`A ${kind.name} with this id already exists.`);
      const made = displayText(memberText(memberText(answer, 'data') ?? '{}', 'id') ?? '""');
      work.finish();
      if (kind.name !== 'record') announceTreeChange();
      navigate(hashOf(below(place, kind, made)));
      say(`The ${kind.name} is created.`);
    });
  const editor = <AttributesEditor text={text} schema={schema} faults={fieldFaultsOf(error)} onChange={setText} />;
  return (
    <form
      class="editor create"
      aria-label={`New ${kind.name}`}
      onSubmit={(event) => {
        event.preventDefault();
        void create();
      }}
    >
      <h2>New {kind.name}</h2>
      <DraftNote work={work} etag="" onRestore={restore} />
      <Field label="Id" hint="Letters, digits, - and _. If empty, the service generates an id.">
        {(attributes) => (
          <input
            {...attributes}
            autocomplete="off"
            spellcheck={false}
            pattern="[A-Za-z0-9][A-Za-z0-9_\-]*"
            value={id}
            onInput={(event) => setId(event.currentTarget.value)}
          />
        )}
      </Field>
      {kind.template === '{}' ? (
        // Most buckets and collections begin without attributes.
        <details class="attributes-box" open={text !== original}>
          <summary>Attributes</summary>
          {editor}
        </details>
      ) : (
        editor
      )}
      <div class="save-bar">
        <FailureNote error={error} />
        <div class="actions">
          <button type="submit" class="primary" data-key="save" disabled={isBusy}>
            Create {kind.name}
          </button>
          <a class="button" href={backHref}>
            Cancel
          </a>
        </div>
      </div>
    </form>
  );
}

// Deletes an object, after a confirmation that fits its contents.
import type { JSX } from 'preact';
import type { BatchResult } from '../../core/batch.ts';
import { sentenceOf } from '../../core/errors.ts';
import type { StoredObject } from '../../core/objects.ts';
import { hashOf, kinds, pathOf, type KindName } from '../../core/places.ts';
import { mayLeave, navigate } from '../../core/router.ts';
import { announceTreeChange, useApp } from '../../ui/app-context.ts';
import { ask, askForWord } from '../../ui/dialog.tsx';
import { useAttempt } from '../../ui/hooks.ts';
import { Button, FailureNote } from '../../ui/parts.tsx';
import { say } from '../../ui/toast.tsx';
import { isUndoable, undoDeletion } from '../../ui/undo-deletion.ts';
import type { TabProps } from '../area.ts';

/** Warnings about the contents that are deleted together with an object. */
const contents: Readonly<Partial<Record<KindName, string>>> = {
  bucket: 'This also deletes everything in it: collections, groups, records and everything that belongs to them.',
  collection: 'This also deletes all of its records.',
};

function warningOf(kind: KindName, isUndone: boolean): string {
  const more = contents[kind] ?? '';
  if (!isUndone) return `${more} This cannot be undone.`.trim();
  return kind === 'collection'
    ? `${more} The collection can be restored from the history of its bucket, its records cannot.`
    : 'It can be restored from the history.';
}

export function RemoveButton({ place, kind, id, object }: TabProps & { readonly object: StoredObject }): JSX.Element {
  const app = useApp();
  const { error, attempt } = useAttempt();
  const parent = place.slice(0, -1);
  const isUndone = isUndoable(app, kind);
  const isMeant = (): Promise<boolean> => {
    const title = `Delete the ${kind.name} ${id}?`;
    const text = warningOf(kind.name, isUndone);
    return contents[kind.name] === undefined
      ? ask({ title, text, yes: 'Delete', no: 'Keep it' })
      : askForWord({ title, text, yes: 'Delete everything', word: id });
  };
  const undo = async (): Promise<void> => {
    const [result] = await undoDeletion(app, { parent, kind, ids: [id] }).catch(failedWith);
    if (result?.status !== 'done') {
      say(`The ${kind.name} ${id} is not restored. ${result?.message ?? ''}`);
      return;
    }
    if (kind.name !== 'record') announceTreeChange();
    navigate(hashOf(place));
    say(`The ${kind.name} ${id} is restored.`);
  };
  const remove = (): Promise<void> =>
    attempt(async () => {
      if (!(await isMeant()) || !(await mayLeave())) return;
      await app.api.request('DELETE', pathOf(place), { headers: { 'If-Match': object.etag } });
      announceTreeChange();
      navigate(hashOf(parent, kind.name === 'group' ? { _tab: kinds.group.plural } : {}));
      const history = hashOf(parent, { _tab: 'history', _action: 'delete' });
      say(
        `The ${kind.name} ${id} is deleted.`,
        isUndone
          ? [
              ...(kind.name === 'collection' ? [] : [{ label: 'Undo', run: undo }]),
              { label: 'Show history', run: history },
            ]
          : [],
      );
    });
  return (
    <>
      <Button class="danger" onClick={remove}>
        Delete this {kind.name}
      </Button>
      <FailureNote error={error} />
    </>
  );
}

function failedWith(error: unknown): readonly BatchResult[] {
  return [{ name: '', status: 'open', code: 0, message: sentenceOf(error) }];
}

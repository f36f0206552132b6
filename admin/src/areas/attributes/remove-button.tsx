// Deletes an object, after a confirmation that fits its contents.
import type { JSX } from 'preact';
import type { StoredObject } from '../../core/objects.ts';
import { hashOf, kinds, pathOf, type KindName } from '../../core/places.ts';
import { mayLeave, navigate } from '../../core/router.ts';
import { announceTreeChange, useApp } from '../../ui/app-context.ts';
import { ask, askForWord } from '../../ui/dialog.tsx';
import { useAttempt } from '../../ui/hooks.ts';
import { Button, FailureNote } from '../../ui/parts.tsx';
import { say } from '../../ui/toast.tsx';
import type { TabProps } from '../area.ts';

/** Warnings about the contents that are deleted together with an object. */
const contents: Readonly<Partial<Record<KindName, string>>> = {
  bucket: 'This also deletes everything in it: collections, groups, records and everything that belongs to them.',
  collection: 'This also deletes all of its records.',
};

export function RemoveButton({ place, kind, id, object }: TabProps & { readonly object: StoredObject }): JSX.Element {
  const { api } = useApp();
  const { error, attempt } = useAttempt();
  const isMeant = (): Promise<boolean> => {
    const title = `Delete the ${kind.name} ${id}?`;
    const more = contents[kind.name];
    return more === undefined
      ? ask({ title, text: 'This cannot be undone.', yes: 'Delete', no: 'Keep it' })
      : askForWord({ title, text: `${more} This cannot be undone.`, yes: 'Delete everything', word: id });
  };
  const remove = (): Promise<void> =>
    attempt(async () => {
      if (!(await isMeant()) || !(await mayLeave())) return;
      await api.request('DELETE', pathOf(place), { headers: { 'If-Match': object.etag } });
      announceTreeChange();
      navigate(hashOf(place.slice(0, -1), kind.name === 'group' ? { _tab: kinds.group.plural } : {}));
      say(`The ${kind.name} ${id} is deleted.`);
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

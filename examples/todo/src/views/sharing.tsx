// Who shares a list. Its creator adds and removes members.
import type { JSX, TargetedSubmitEvent } from 'preact';
import type { List } from '../model.ts';
import { nameOf } from '../session.ts';
import type { Store } from '../store.ts';
import { useRows } from '../use-rows.ts';
import { textOf } from './form.ts';

interface Props {
  readonly store: Store;
  readonly list: List;
}

export function Sharing({ store, list: { id } }: Props): JSX.Element {
  const members = useRows(store.groups).find((group) => group.id === id)?.members ?? [];
  const isMember = members.some((member) => nameOf(member) === store.session.name);

  const share = (event: TargetedSubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = event.currentTarget;
    store.share(id, textOf(form, 'name')).then(() => form.reset(), store.report);
  };

  const unshare = (member: string): void => {
    store.unshare(id, member).catch(store.report);
  };

  const deleteList = (): void => {
    store.deleteList(id).catch(store.report);
  };

  return (
    <section aria-label="Sharing">
      <h2>Shared with</h2>
      {members.length === 0 && <p>Not shared yet.</p>}
      <ul>
        {members.map((member) => (
          <li key={member} class="row">
            <span>{nameOf(member)}</span>
            {!isMember && <button onClick={() => unshare(member)}>Remove {nameOf(member)}</button>}
          </li>
        ))}
      </ul>
      {!isMember && (
        <>
          <form onSubmit={share} class="row">
            <input name="name" aria-label="Name of the user" placeholder="Name of a user" required />
            <button>Share</button>
          </form>
          <button class="danger" onClick={deleteList}>
            Delete the list
          </button>
        </>
      )}
    </section>
  );
}

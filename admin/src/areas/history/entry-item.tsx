// One change: what, when, by whom; and opened, its difference, with the actions that restore a version or undo the change.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { indentJson } from '../../core/json-text.ts';
import { pageHashOf } from '../../core/places.ts';
import { useApp } from '../../ui/app-context.ts';
import { DiffView } from '../../ui/diff-view.tsx';
import { useAttempt, useLoad } from '../../ui/hooks.ts';
import { Button, FailureNote, Loading, Moment, NoPermission, Principal } from '../../ui/parts.tsx';
import { mayChange, restoreVersion, undoChange } from './changes.ts';
import {
  comparable,
  everywhere,
  historyPathOfUri,
  loadBefore,
  loadEntry,
  permissionLines,
  type Entry,
  type Version,
} from './entries.ts';

const verbs: ReadonlyMap<string, string> = new Map([
  ['create', 'created'],
  ['update', 'changed'],
  ['delete', 'deleted'],
]);

export interface EntryItemProps {
  readonly entry: Entry;
  /** URI of the object whose history is shown; that of the list of buckets for all. */
  readonly within: string;
  /** Returns the address of the changes of a user in the same view. */
  readonly userHref: (user: string) => string;
  readonly onDone: (message: string) => void;
}

export function EntryItem(props: EntryItemProps): JSX.Element {
  const { moment, action, uri, user } = props.entry;
  const [isOpen, setOpen] = useState(false);
  return (
    <li>
      <details onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>
          <Moment text={moment} /> <strong class={`verb ${action}`}>{verbs.get(action) ?? action}</strong>{' '}
          <code title={uri}>{nameOf(uri, props.within)}</code>{' '}
          <span class="quiet">by {user === undefined ? 'an anonymous user' : <Principal id={user} />}</span>
        </summary>
        {isOpen ? <Change {...props} /> : null}
      </details>
    </li>
  );
}

/** Returns the name of an object in the history of another: the way from there, or `this` for itself. */
function nameOf(uri: string, within: string): string {
  if (uri === within) return 'this';
  return uri.startsWith(`${within}/`) ? uri.slice(within.length + 1) : uri;
}

function Change({ entry: shown, within, userHref, onDone }: EntryItemProps): JSX.Element {
  const app = useApp();
  const { api, service } = app;
  const historyPath = historyPathOfUri(shown.uri);
  const { value, error, reload } = useLoad(async (signal) => {
    const [entry, before, isChangeable] = await Promise.all([
      loadEntry(api, historyPath, shown, signal),
      loadBefore(api, historyPath, shown, signal),
      mayChange(app, shown, signal),
    ]);
    return { entry, before, isChangeable };
  }, shown.id);
  const { error: failure, isBusy, attempt } = useAttempt();
  if (error !== undefined) return <FailureNote error={error} onRetry={reload} />;
  if (value === undefined) return <Loading />;
  const { entry, before, isChangeable } = value;
  const run = (act: () => Promise<string | undefined>): Promise<void> =>
    attempt(async () => {
      const message = await act();
      if (message !== undefined) onDone(message);
    });
  return (
    <div class="change">
      <Difference before={before} after={entry.after} />
      <FailureNote error={failure} />
      <div class="actions">
        {!isChangeable || entry.action === 'delete' ? null : (
          <Button class="small" disabled={isBusy} onClick={() => run(() => restoreVersion(app, entry))}>
            Restore this version
          </Button>
        )}
        {!isChangeable || before === undefined ? null : (
          <Button class="small" disabled={isBusy} onClick={() => run(() => undoChange(app, entry, before))}>
            Undo this change
          </Button>
        )}
        {isChangeable || entry.kind === undefined || service.isReadOnly ? null : (
          <NoPermission to={`change this ${entry.kind.name}`} />
        )}
        {entry.kind === undefined || entry.uri === within ? null : (
          <a href={`#${entry.uri}`}>Open the {entry.kind.name}</a>
        )}
        <a href={userHref(entry.user ?? 'null')}>Changes of this user</a>
        {within === everywhere ? null : (
          <a href={pageHashOf('history', { _user: entry.user ?? 'null' })}>in all buckets</a>
        )}
      </div>
    </div>
  );
}

function Difference({ before, after }: { readonly before: Version | undefined; readonly after: Version }): JSX.Element {
  const lines = [before?.permissions, after.permissions].map((each) => permissionLines(each ?? new Map()));
  if (before === undefined) {
    return (
      <>
        <p class="hint">The history does not hold the version before.</p>
        <pre tabIndex={0}>{indentJson(comparable(after))}</pre>
      </>
    );
  }
  const isSame = comparable(before) === comparable(after);
  return (
    <>
      {isSame ? (
        <p class="hint">The attributes did not change.</p>
      ) : (
        <DiffView before={indentJson(comparable(before))} after={indentJson(comparable(after))} label="Attributes" />
      )}
      {lines[0] === lines[1] ? null : (
        <>
          <h2>Permissions</h2>
          <DiffView before={lines[0] ?? ''} after={lines[1] ?? ''} label="Permissions" />
        </>
      )}
    </>
  );
}

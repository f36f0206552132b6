// The dialog before a version is restored: the difference between the current version and that one.
import { choose } from '../../ui/dialog.tsx';
import { DiffView } from '../../ui/diff-view.tsx';

interface Pair {
  readonly now: string;
  readonly then: string;
}

export interface RestoreQuestion {
  readonly isDeleted: boolean;
  /** Sentence about the contents that were deleted with the object and do not come back. */
  readonly contents: string;
  readonly data: Pair;
  /** `undefined` when the permissions do not differ, or cannot be seen. */
  readonly permissions: Pair | undefined;
}

/** Asks what to restore: the attributes, or the permissions as well. */
export function askToRestore({
  isDeleted,
  contents,
  data,
  permissions,
}: RestoreQuestion): Promise<'data' | 'all' | undefined> {
  const [onlyData, all] = ['Restore attributes', 'Restore attributes and permissions'];
  return choose<'stay' | 'data' | 'all'>(
    'Restore this version',
    <>
      <p>
        {isDeleted ? 'The object was deleted, and is created again.' : 'The current version stays in the history.'}
        {contents === '' ? '' : ` Its ${contents} do not come back.`}
      </p>
      <DiffView before={data.now} after={data.then} label="Changes of attributes" />
      {permissions === undefined ? null : (
        <>
          <h3>Permissions</h3>
          <DiffView before={permissions.now} after={permissions.then} label="Changes of permissions" />
        </>
      )}
    </>,
    [
      { value: 'stay', label: 'Cancel' },
      { value: 'data', label: onlyData },
      ...(permissions === undefined ? [] : [{ value: 'all' as const, label: all }]),
    ],
    'large',
  ).then((choice) => (choice === 'stay' ? undefined : choice));
}

// The dialog for edit conflicts: shows the difference of both versions, and asks which one to keep.
import { choose } from './dialog.tsx';
import { DiffView } from './diff-view.tsx';

/** Shows both versions and asks which one to keep. `theirs` is `undefined` when the object was deleted. */
export async function resolveConflict(mine: string, theirs: string | undefined): Promise<'mine' | 'theirs' | 'edit'> {
  const isDeleted = theirs === undefined;
  const choice = await choose(
    'Another user has changed this object',
    <>
      <p>Nothing has been saved yet. Which version do you want to keep?</p>
      {isDeleted ? (
        <p class="note">It was deleted.</p>
      ) : (
        <>
          <p class="hint">
            <span class="removed">− theirs</span>, the current version, and <span class="added">+ yours</span>:
          </p>
          <DiffView before={theirs} after={mine} label="Difference of both versions" />
        </>
      )}
    </>,
    [
      { value: 'edit', label: 'Continue editing' },
      { value: 'theirs', label: isDeleted ? 'Keep it deleted' : 'Keep theirs' },
      { value: 'mine', label: isDeleted ? 'Create it again with mine' : 'Overwrite with mine', isDangerous: true },
    ],
    'large',
  );
  return choice ?? 'edit';
}

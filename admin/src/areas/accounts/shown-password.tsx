// Shows a new password once.
import { choose } from '../../ui/dialog.tsx';

export async function showPassword(id: string, password: string): Promise<void> {
  await choose(
    `The password of ${id}`,
    <>
      <p>Give it to the user over a safe channel. It is not shown again.</p>
      <pre tabIndex={0}>{password}</pre>
    </>,
    [{ value: 'done', label: 'Done' }],
  );
}

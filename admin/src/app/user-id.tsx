// The name of the user in the bar. It opens the whole user id, which others need to share something with the user.
import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';
import { Dialog, openDialog } from '../ui/dialog.tsx';
import { Icon } from '../ui/icons.tsx';
import { Button, Field, shortUser } from '../ui/parts.tsx';
import { say } from '../ui/toast.tsx';

export function UserName({ id }: { readonly id: string | undefined }): JSX.Element {
  if (id === undefined) {
    return (
      <span class="who">
        <Icon name="person" />
        <span class="user">Not signed in</span>
      </span>
    );
  }
  return (
    <button
      type="button"
      class="plain who"
      title={`${id}\nShow and copy the user id`}
      onClick={() => void openDialog((close) => <UserIdDialog id={id} close={close} />)}
    >
      <Icon name="person" />
      <span class="user">{shortUser(id)}</span>
    </button>
  );
}

function UserIdDialog({ id, close }: { readonly id: string; readonly close: () => void }): JSX.Element {
  const field = useRef<HTMLInputElement>(null);
  const copy = async (): Promise<void> => {
    field.current?.select();
    try {
      await navigator.clipboard.writeText(id);
    } catch {
      // Without HTTPS browsers have no clipboard for pages. The id is selected, so that the keys copy it.
      return;
    }
    close();
    say('Your user id is copied.');
  };
  return (
    <Dialog title="Your user id" onClose={close}>
      <Field label="User id" hint="Others enter it under Permissions to share something with you.">
        {(attributes) => <input {...attributes} ref={field} class="user-id" readOnly value={id} />}
      </Field>
      <div class="actions">
        <Button class="primary" onClick={copy}>
          Copy my user id
        </Button>
        <Button onClick={close}>Close</Button>
      </div>
    </Dialog>
  );
}

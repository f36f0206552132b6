// The console by keyboard alone: from the sign-in to a deleted record that is restored.
import type { Locator } from 'playwright-core';
import { expect, it } from 'vitest';
import { collection, describeConsole } from './stage.ts';

/** Maximum number of presses of Tab to reach a control. */
const maxTabs = 60;

describeConsole('The console by keyboard alone', {}, (stage) => {
  const hasFocus = (target: Locator): Promise<boolean> => target.evaluate((element) => element.matches(':focus'));

  /** Presses Tab until a control has the focus. */
  async function tabTo(target: Locator): Promise<void> {
    await target.waitFor();
    for (let tabs = 0; tabs < maxTabs; tabs += 1) {
      if (await hasFocus(target)) return;
      await stage.page.keyboard.press('Tab');
    }
    throw new Error(`Tab does not reach ${target.toString()}.`);
  }

  /** Presses a control of the view, or of the dialog above it, with the Enter key. */
  async function enter(role: 'button' | 'link', name: string, within: 'main' | 'dialog' = 'main'): Promise<void> {
    await tabTo(stage.page.getByRole(within).getByRole(role, { name, exact: true }));
    await stage.page.keyboard.press('Enter');
  }

  it('signs in, creates, edits, deletes and restores.', async () => {
    const { alice, page, visitor } = stage;
    const { keyboard } = page;
    await alice.request('DELETE', '/v1/buckets/kitchen');
    await page.getByLabel('Name').waitFor();
    await keyboard.type('alice');
    await keyboard.press('Tab');
    await keyboard.type('secret of alice');
    await keyboard.press('Enter');
    await stage.heading('Buckets');
    for (const [kind, id] of [
      ['bucket', 'kitchen'],
      ['collection', 'recipes'],
      ['record', 'bread'],
    ] as const) {
      await enter('link', `New ${kind}`);
      const field = page.getByLabel('Id', { exact: true });
      await tabTo(field);
      await keyboard.type(id);
      await enter('button', `Create ${kind}`);
      await stage.heading(`${kind} ${id}`);
    }
    const editor = page.getByRole('textbox', { name: 'Attributes (JSON)' });
    await tabTo(editor);
    await keyboard.press('Control+a');
    await keyboard.insertText('{"by": "keyboard"}');
    // The editor lets go of the focus.
    await keyboard.press('Tab');
    expect(await hasFocus(editor)).toBe(false);
    await keyboard.press('Control+s');
    await stage.status('Saved.');
    expect(await stage.recordText('bread')).toContain('"by":"keyboard"');

    await enter('button', 'Delete this record');
    await page.getByRole('dialog').waitFor();
    // The safe choice has the focus.
    await keyboard.press('Enter');
    expect((await alice.request('GET', `${collection}/records/bread`)).status).toBe(200);
    await enter('button', 'Delete this record');
    await enter('button', 'Delete', 'dialog');
    await stage.heading('collection recipes');
    await enter('link', 'History');
    const deletion = page.locator('.history summary').first();
    await tabTo(deletion);
    await keyboard.press('Enter');
    await enter('button', 'Undo this change');
    await enter('button', 'Restore attributes', 'dialog');
    await stage.status('The version is restored.');
    expect(await stage.recordText('bread')).toContain('"by":"keyboard"');

    await visitor.search('kitchen/recipes/bread');
    await page.getByRole('option', { name: /^bread / }).waitFor();
    await keyboard.press('Enter');
    await stage.heading('record bread');
    await expect.poll(() => visitor.editorText()).toContain('"keyboard"');
  });
});

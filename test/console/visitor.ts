// A user of the console: a browser with a page, and a record of everything that must not happen there.
import { chromium, type Browser, type BrowserContext, type Locator, type Page } from 'playwright-core';
import type { TestService } from '../../src/testing/index.ts';
import { findChromium } from '../support/chromium.ts';

/** Starts the browser of the machine, with further arguments. */
export async function openBrowser(args: readonly string[] = []): Promise<Browser> {
  const { path, environment } = await findChromium();
  const env = { ...process.env, ...environment } as Record<string, string>;
  return chromium.launch({ executablePath: path, env, args: [...args] });
}

export class Visitor {
  readonly page: Page;
  /** Violations of the policy, uncaught errors, dialogs of scripts, and requests to other origins. */
  readonly faults: readonly string[];
  readonly #context: BrowserContext;
  readonly #address: string;

  private constructor(context: BrowserContext, page: Page, address: string, faults: readonly string[]) {
    this.#context = context;
    this.page = page;
    this.#address = address;
    this.faults = faults;
  }

  /** Opens the console of a service in a window of its own. */
  static async come(browser: Browser, service: TestService): Promise<Visitor> {
    const context = await browser.newContext({ viewport: { width: 1100, height: 800 } });
    // A guard against waits that never end: a busy machine may take long to draw a view.
    context.setDefaultTimeout(60_000);
    const page = await context.newPage();
    const faults: string[] = [];
    page.on('pageerror', (error) => faults.push(`error: ${error.message}`));
    page.on('dialog', (dialog) => {
      // Chromium asks before it leaves a page with changes; scripts of data would ask with `alert`.
      if (dialog.type() !== 'beforeunload') faults.push(`dialog: ${dialog.message()}`);
      void dialog.accept();
    });
    page.on('console', (message) => {
      if (/Content Security Policy/i.test(message.text())) faults.push(message.text());
    });
    page.on('request', (request) => {
      const isOwn = request.url().startsWith(`${service.origin}/v1/`) || request.url().startsWith('blob:');
      if (!isOwn) faults.push(`request: ${request.url()}`);
    });
    const address = `${service.origin}/v1/admin/`;
    await page.goto(address);
    return new Visitor(context, page, address, faults);
  }

  /** Signs in with a name and the password that test clients have. */
  async signIn(name: string, password = `secret of ${name}`): Promise<void> {
    await this.page.getByLabel('Name').fill(name);
    await this.page.getByLabel('Password').fill(password);
    await this.page.getByLabel('Password').press('Enter');
    await this.page.getByRole('button', { name: 'Sign out' }).waitFor();
  }

  /** Goes to a view by its address. */
  async go(hash: string): Promise<void> {
    await this.page.goto(`${this.#address}${hash}`);
    // Until then the view before may still be there, with fields of the same names.
    const shown = new URL(this.page.url()).hash;
    await this.page.locator(`#app[data-shown=${JSON.stringify(shown)}]`).waitFor();
    await this.page.getByRole('heading', { level: 1 }).waitFor();
  }

  /** Opens the search by its keys, and types a text when it is ready: keys that are pressed earlier go elsewhere. */
  async search(text: string): Promise<void> {
    await this.page.keyboard.press('Control+k');
    await this.page.locator('[aria-controls="search-hits"]:focus').waitFor();
    await this.page.keyboard.type(text);
  }

  /** Returns the text of the JSON editor. */
  async editorText(): Promise<string> {
    const lines = await this.#editor().locator('.cm-line').allInnerTexts();
    return lines.map((line) => (line === '\n' ? '' : line)).join('\n');
  }

  /** Replaces the text of the JSON editor, as a user who selects all and pastes. */
  async writeEditor(text: string): Promise<void> {
    await this.#editor().click();
    await this.page.keyboard.press('Control+a');
    await this.page.keyboard.insertText(text);
  }

  /** Presses a key in the JSON editor. */
  async pressInEditor(key: string): Promise<void> {
    await this.#editor().press(key);
  }

  #editor(): Locator {
    return this.page.getByRole('textbox', { name: 'Attributes (JSON)' });
  }

  /** Events of the window when its user returns to it. */
  async lookAgain(): Promise<void> {
    await this.page.evaluate('window.dispatchEvent(new Event("focus"))');
  }

  async leave(): Promise<void> {
    await this.#context.close();
  }
}

// Starts the language server, and shows what its lenses run.

const vscode = require('vscode');
const { LanguageClient } = require('vscode-languageclient/node');

let client;

async function activate() {
  const settings = vscode.workspace.getConfiguration('encamp');
  const server = { command: settings.get('path'), args: ['lsp', ...settings.get('arguments')] };
  client = new LanguageClient('encamp', 'encamp', server, {
    documentSelector: [{ language: 'nomad' }],
    middleware: {
      async executeCommand(command, args, next) {
        const result = await next(command, args);
        if (result && result.text) {
          const document = await vscode.workspace.openTextDocument({ content: result.text });
          await vscode.window.showTextDocument(document, vscode.ViewColumn.Beside);
        }
        return result;
      },
    },
  });
  await client.start();
}

function deactivate() {
  return client && client.stop();
}

module.exports = { activate, deactivate };

// Starts `graphrun lsp` for .pbtxt files.
const vscode = require('vscode');
const { LanguageClient } = require('vscode-languageclient/node');

let client;

exports.activate = async function (context) {
  const command = vscode.workspace.getConfiguration('graphrun').get('command', 'graphrun');
  const watcher = vscode.workspace.createFileSystemWatcher('**/*.pbtxt');
  context.subscriptions.push(watcher);
  client = new LanguageClient(
    'graphrun',
    'graphrun',
    { command, args: ['lsp'] },
    {
      documentSelector: [{ language: 'graphrun' }],
      synchronize: { fileEvents: watcher },
    },
  );
  await client.start();
};

exports.deactivate = function () {
  return client ? client.stop() : undefined;
};

-- Starts `graphrun lsp` for .pbtxt files in Neovim 0.7 or later. In init.lua:
--   vim.opt.runtimepath:append('PATH/tools/editor/vim')
--   dofile('PATH/tools/editor/nvim/graphrun.lua')
-- The program is graphrun in $PATH, or what vim.g.graphrun_command says.
local client

local function attach(buffer)
  if not client then
    client = vim.lsp.start_client({
      name = 'graphrun',
      cmd = { vim.g.graphrun_command or 'graphrun', 'lsp' },
      root_dir = vim.fn.getcwd(),
      on_exit = function() client = nil end,
      on_attach = function(_, attached)
        vim.api.nvim_buf_set_option(attached, 'omnifunc', 'v:lua.vim.lsp.omnifunc')
        vim.api.nvim_buf_set_option(attached, 'commentstring', '# %s')
        local map = function(keys, action) vim.keymap.set('n', keys, action, { buffer = attached }) end
        map('K', vim.lsp.buf.hover)
        map('gd', vim.lsp.buf.definition)
        map('gr', vim.lsp.buf.references)
        map('<leader>rn', vim.lsp.buf.rename)
        map('<leader>ca', vim.lsp.buf.code_action)
        map('<leader>f', function()
          if vim.lsp.buf.format then vim.lsp.buf.format() else vim.lsp.buf.formatting_sync() end
        end)
      end,
    })
  end
  if client then vim.lsp.buf_attach_client(buffer, client) end
end

vim.api.nvim_create_autocmd('FileType', {
  pattern = 'graphrun',
  callback = function(event) attach(event.buf) end,
})
